"""The templates that every business account has from the start."""

from gatepost_sandbox.templates.draft import Draft

STOCK = (
    Draft(
        name="hello_world",
        language="en_US",
        category="UTILITY",
        parameter_format="POSITIONAL",
        components=[
            {"type": "HEADER", "format": "TEXT", "text": "Hello World"},
            {"type": "BODY", "text": "Your account can send templates. This one came with it and has no variables."},
            {"type": "FOOTER", "text": "A sample of the sandbox"},
        ],
    ),
    Draft(
        name="order_update",
        language="en_US",
        category="UTILITY",
        parameter_format="POSITIONAL",
        components=[
            {
                "type": "BODY",
                "text": "Hello {{1}}, your order {{2}} has left our house and is on its way to you.",
                "example": {"body_text": [["Ana", "4711"]]},
            },
        ],
    ),
)
