"""The pin of an https app: the SHA-256 of the certificate that it must show, in whichever spelling people paste it.

`openssl x509 -noout -fingerprint -sha256 -in cert.pem` prints one with a word before it and colons between.
"""

from __future__ import annotations

import re
from typing import Any, Final

PIN_FORM: Final = "SHA-256: 64 [0-9a-f]"
_PASTED: Final = re.compile(
    r"\s*(?:sha256(?:\s+fingerprint)?\s*[:=]\s*)?([0-9a-f:]{64,95})\s*", re.ASCII | re.IGNORECASE
)


def read_pin(plain: Any) -> str | None:
    """64 lower-case hex digits; None for what is no pin."""
    found = _PASTED.fullmatch(plain) if isinstance(plain, str) else None
    digits = "" if found is None else found[1].lower()
    if ":" in digits:
        digits = "".join(digits.split(":")) if re.fullmatch("(?:[0-9a-f]{2}:){31}[0-9a-f]{2}", digits) else ""
    return digits if len(digits) == 64 else None
