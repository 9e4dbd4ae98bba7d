"""The command line: `gatepost`. Nothing heavy is imported before a command needs it."""


def main() -> None:
    """Run the command line."""
    from gatepost.cli.root import app

    app(prog_name="gatepost")
