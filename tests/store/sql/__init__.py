"""The statements of the program, read from its source: `collect` finds their texts, `scope` judges them."""
