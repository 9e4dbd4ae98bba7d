"""The package gatepost-sandbox, which the gateway can do without."""

from importlib.util import find_spec


def require_sandbox() -> None:
    """Fail with a clear message when the package gatepost-sandbox is not installed."""
    if find_spec("gatepost_sandbox") is None:
        raise OSError(
            "The package gatepost-sandbox is not installed. Run `pip install 'gatepost[sandbox]'`, "
            "or in a checkout `pip install ./packages/gatepost-sandbox`."
        )
