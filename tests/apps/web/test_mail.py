from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from inbox import Letters, mail_server
from rankwell.apps.web import Mail, Postbox, mail_settings, normalised_address
from rankwell.apps.web.mail import MailSettings
from rankwell.core import RankwellError


@pytest.fixture
def inbox() -> Iterator[Letters]:
    with mail_server() as letters:
        yield letters


def settings(inbox: Letters) -> MailSettings:
    return MailSettings("127.0.0.1", "study@example.org", inbox.port, "none")


def test_a_letter_arrives(inbox: Letters) -> None:
    postbox = Postbox(settings(inbox))
    postbox.post(Mail("ada@example.org", "Your link: ö", "Hello\n\nhttp://x/y?z=" + "ü" * 100))
    postbox.close()
    assert inbox.found == [(["ada@example.org"], "Your link: ö", "Hello\n\nhttp://x/y?z=" + "ü" * 100 + "\n")]


def test_a_server_that_refuses_is_tried_again_and_nobody_is_named_in_the_log(inbox: Letters, caplog) -> None:
    inbox.refuse = 2
    postbox = Postbox(settings(inbox), waits=(0.01, 0.01))
    with caplog.at_level(logging.DEBUG):
        postbox.post(Mail("ada@example.org", "Link", "secret-token"))
        postbox.close()
    assert len(inbox.found) == 1
    assert [record.message for record in caplog.records if "rankwell" in record.name] == [
        "a mail was not sent: SMTPDataError"
    ] * 2
    ours = " ".join(record.message for record in caplog.records if record.name.startswith("rankwell"))
    assert "ada" not in ours
    assert "secret-token" not in ours


def test_a_line_break_adds_no_reader(inbox: Letters) -> None:
    postbox = Postbox(settings(inbox), waits=())
    postbox.post(Mail("ada@example.org\nBcc: eve@example.org", "Link", "text"))
    postbox.post(Mail("ada@example.org", "Link\nBcc: eve@example.org", "text"))
    postbox.close()
    assert inbox.found == []


def test_a_letter_shows_neither_its_reader_nor_its_text() -> None:
    assert repr(Mail("ada@example.org", "Link", "secret")) == "Mail(subject='Link')"
    assert "hunter2" not in repr(MailSettings("h", "a@b.org", user="u", password="hunter2"))  # noqa: S106 -- not a secret


def test_settings_come_from_the_environment() -> None:
    assert mail_settings({}) is None
    found = mail_settings({"RANKWELL_SMTP_HOST": "mail", "RANKWELL_SMTP_FROM": "a@b.org"})
    assert found == MailSettings("mail", "a@b.org", 587, "starttls")
    found = mail_settings(
        {"RANKWELL_SMTP_HOST": "mail", "RANKWELL_SMTP_FROM": "a@b.org", "RANKWELL_SMTP_SECURITY": "tls"}
    )
    assert found == MailSettings("mail", "a@b.org", 465, "tls")


def test_settings_come_from_a_file_that_others_cannot_read(tmp_path: Path) -> None:
    file = tmp_path / "smtp"
    file.write_text("# ours\nRANKWELL_SMTP_HOST=mail\nRANKWELL_SMTP_FROM = a@b.org\nRANKWELL_SMTP_PASSWORD='p=q'\n")
    file.chmod(0o600)
    found = mail_settings({"RANKWELL_SMTP_FILE": str(file), "RANKWELL_SMTP_PORT": "2525"})
    assert found == MailSettings("mail", "a@b.org", 2525, "starttls", None, "p=q")
    file.chmod(0o640)
    with pytest.raises(RankwellError, match="0640"):
        mail_settings({"RANKWELL_SMTP_FILE": str(file)})


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "RANKWELL_SMTP_FROM: expected the address"),
        ({"FROM": "nobody"}, "RANKWELL_SMTP_FROM: expected an e-mail address"),
        ({"FROM": "a@b.org", "PORT": "smtp"}, "RANKWELL_SMTP_PORT: expected a number"),
        ({"FROM": "a@b.org", "SECURITY": "some"}, "RANKWELL_SMTP_"),
    ],
)
def test_wrong_settings_say_what_is_expected(given: dict[str, str], expected: str) -> None:
    with pytest.raises(RankwellError, match=expected):
        mail_settings(
            {"RANKWELL_SMTP_HOST": "mail"} | {f"RANKWELL_SMTP_{name}": value for name, value in given.items()}
        )


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (" Ada@Example.ORG ", "ada@example.org"),
        ("ada.lovelace+study@uni-köln.de", "ada.lovelace+study@uni-köln.de"),
        ("ada", None),
        ("ada@localhost", None),
        ("ada@@example.org", None),
        ("ada@example.org, eve@example.org", None),
        ("ada@example.org\nBcc: eve@example.org", None),
        ("ada\x00@example.org", None),
        ("ada\u202e@example.org", None),
        ("<ada@example.org>", None),
        ("a" * 300 + "@example.org", None),
    ],
)
def test_addresses(text: str, address: str | None) -> None:
    assert normalised_address(text) == address
