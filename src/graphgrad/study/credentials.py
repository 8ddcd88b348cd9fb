"""Temporary credentials, with which only our own processes command a local cluster."""

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

OPENSSL = (
    *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30"),
    *("-subj", "/CN=graphgrad", "-keyout", "key.pem", "-out", "certificate.pem"),
)
"""Command that makes a key and a certificate, which is its own authority."""


def temporary_security(distributed: Any) -> Any:
    """Security of Dask by TLS, with a key that only this process and its own have.

    Args:
        distributed: The package.
    """
    try:
        return distributed.Security.temporary()
    except ImportError:  # without `cryptography`
        pass
    try:
        with TemporaryDirectory(prefix="graphgrad-") as folder:  # of mode 0700
            subprocess.run(OPENSSL, cwd=folder, check=True, capture_output=True)
            key = (Path(folder) / "key.pem").read_text()
            certificate = (Path(folder) / "certificate.pem").read_text()
    except (OSError, subprocess.SubprocessError) as error:
        raise ValueError(
            "`--workers` must have credentials, by which other users of this machine "
            f"are kept out, got none: {error}. Get them with: pip install cryptography."
        ) from None
    roles = ("client", "scheduler", "worker")
    return distributed.Security(
        require_encryption=True,
        tls_ca_file=certificate,
        **{f"tls_{role}_key": key for role in roles},
        **{f"tls_{role}_cert": certificate for role in roles},
    )
