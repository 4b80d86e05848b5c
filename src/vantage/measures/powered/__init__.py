"""Powered estimates: people judged some items, a model judged all, and both together give a shorter interval.

`contributions` holds what each item adds to a measure, `sides` what people and the model said, and `estimate` predicts
the first from the second and joins them into three rows: people, model, both. A measure takes part by declaring its
contributions: `@measure(…, powered=Powered(contributions))`.
"""
