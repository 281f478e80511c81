"""The operator's files of issuers' keys: read again when they change, and refused if they are not public keys."""

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.access.federation.oidc_keys import IssuerKeys, MissingIssuerKeys
from penstock.errors import InvalidInput
from penstock.testing.web_tokens import TokenIssuer

ISSUER = "https://oidc.example.com"


def test_a_replaced_file_holds_after_five_seconds_and_a_missing_one_no_more(tmp_path: Path) -> None:
    now, file = 0.0, tmp_path / "keys.json"
    file.write_text(json.dumps(TokenIssuer(ISSUER, "one").key_set()))
    keys = IssuerKeys({ISSUER: file}, clock=lambda: now)
    assert [key.kid for key in keys.of(ISSUER)] == ["one"]
    file.write_text(json.dumps(TokenIssuer(ISSUER, "another").key_set()))
    assert [key.kid for key in keys.of(ISSUER)] == ["one"]
    now = 5.0
    assert [key.kid for key in keys.of(ISSUER)] == ["another"]
    file.unlink()
    now = 10.0
    with pytest.raises(MissingIssuerKeys):
        keys.of(ISSUER)
    with pytest.raises(MissingIssuerKeys, match="--oidc-keys"):
        keys.of("https://other.example.com")


KEY = TokenIssuer(ISSUER).key_set()["keys"][0]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "is not a JSON Web Key Set"),
        ("[" * 20_000, "is not a JSON Web Key Set"),
        (json.dumps([KEY]), "is not a JSON Web Key Set"),
        (json.dumps({"keys": ["x"]}), "is not a JSON Web Key Set"),
        (json.dumps({"keys": [KEY] * 101}), "is not a JSON Web Key Set"),
        (json.dumps({"keys": [{"kty": "RSA", "kid": "x"}]}), "is not a JSON Web Key Set"),
        (json.dumps({"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}), "has no RSA or EC key"),
        (json.dumps({"keys": [KEY | {"use": "enc"}]}), "has no RSA or EC key"),
        (json.dumps({"keys": [KEY | {"d": "AQAB"}]}), "has a private key"),
        (json.dumps({"keys": [KEY | {"n": KEY["n"][:171]}]}), "less than 2,048 bits"),
        (" " * 300_000, "has more than 262,144 bytes"),
    ],
)
def test_a_file_that_is_not_a_set_of_public_keys_is_refused_at_the_start(tmp_path: Path, content: str, problem: str) -> None:
    file = tmp_path / "keys.json"
    file.write_text(content)
    with pytest.raises(InvalidInput, match=problem):
        IssuerKeys({ISSUER: file}).check()


def test_an_issuer_is_an_https_url(tmp_path: Path) -> None:
    file: Any = tmp_path / "keys.json"
    with pytest.raises(InvalidInput, match="is not an https URL"):
        IssuerKeys({"http://oidc.example.com": file}).check()
    with pytest.raises(InvalidInput, match="is not a JSON Web Key Set"):
        IssuerKeys({ISSUER: file}).check()
