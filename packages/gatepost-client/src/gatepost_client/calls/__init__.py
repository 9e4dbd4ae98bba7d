"""Every operation of the API as a pure function that returns a call."""
