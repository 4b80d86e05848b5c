"""Powered estimates: people judged some items, a model judged all, and both together give a shorter interval.

`contributions` holds what each item adds to a measure, `model_answers` what the model said, `prediction` predicts the
first from the second, and `estimate` joins them into three rows: people, model, both. A measure takes part by
declaring its contributions: `@measure(…, powered=Powered(contributions))`.
"""
