"""The errors gmatch raises. Each message says what was expected, what came, and what to do."""


class GmatchError(Exception):
    """Base of every error that gmatch raises on purpose."""


class InvalidInput(GmatchError, ValueError):
    """An argument that gmatch cannot work with; raised before any work starts."""


class DataError(GmatchError, OSError):
    """A file or download that is missing, unreadable, truncated or not what it should be."""


class BackendUnavailable(GmatchError, RuntimeError):
    """The device asked for cannot be used here: no CuPy, no GPU, or no threads to be had."""


class CertificateError(GmatchError, RuntimeError):
    """A result that does not prove itself: `gmatch.verify` found what is wrong with it."""
