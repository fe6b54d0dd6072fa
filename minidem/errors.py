"""What the user got wrong; the command line prints these without a traceback and exits with code 2."""


class InputError(Exception):
    """Bad usage or a bad file. The message names the file, what is wrong and the remedy."""


class WriteError(Exception):
    """A run directory that can no longer be written to, say on a full disk; exit code 1."""


class ScenarioError(InputError):
    """Everything that is wrong with one scenario, each entry as ``file: key.path: message``."""

    def __init__(self, errors: list[str]):
        super().__init__("\n".join(errors))
        self.errors = errors
