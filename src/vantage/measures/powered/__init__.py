"""Powered estimates: people judged some items, a model judged all, and both together give a shorter interval.

`contributions` holds what people and the model said and what each item adds to a measure, and `estimate` predicts the
last from what the model said and makes three rows: people, model, both. A measure takes part by declaring its
contributions: `@measure(…, powered=Powered(contributions))`.
"""
