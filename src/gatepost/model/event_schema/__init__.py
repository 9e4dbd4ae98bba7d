"""What events look like, for machines: a JSON Schema for each type, and an example of each action.

shapes.py    the data of every action, as types
schema.py    these types as JSON Schema, inside the envelope that all events share
examples.py  an event of every action, made by the functions that make real ones
"""
