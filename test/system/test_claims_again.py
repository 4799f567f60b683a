"""The second half of the claims of `loadgen claims`."""

import unittest

from claims import claims_of_half

ShownClaims = claims_of_half(1)

if __name__ == "__main__":
    unittest.main()
