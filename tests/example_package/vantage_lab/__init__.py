"""What our laboratory adds to Vantage: one module for each kind of thing; `pyproject.toml` names them."""
