"""Words: the verbs that names of tools begin with, and how a name falls into words. Pure tables. Comes before kinds."""

from __future__ import annotations

import re

_SPACES = re.compile(r"__|[./:\\]")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_A-Za-z]+")


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


READS = _set("""
    get list search find query read fetch lookup look show view describe retrieve browse check count inspect preview peek
    summarize has exists exist is can verify validate compare explain display see stat
    suche suchen lies lesen hole zeige buscar obtener consultar leer listar chercher obtenir lister lire trouver cerca leggi
""")
"""Verbs of tools that look something up."""

PLAIN_READS = _set("get search find fetch retrieve lookup describe")
"""Those that are verbs and nothing else, so that a noun may stand before them: `calendar_get_event`."""

COMPUTES = _set("""
    calc calculate calculator compute convert converter estimate sum subtract multiply divide mean median average round parse format
    encode decode hash translate classify detect normalize interpolate solve integrate differentiate factorial
    berechne berechnen calcular calculer calcola
""")
"""Verbs of tools that give an answer from their arguments alone."""

ACTS = _set("""
    create creates delete deletes deleting remove removes insert upsert update updates modify modifies edit edits write writes append overwrite
    replace rename move send sends sending publish submit submits apply cancel cancels refund refunds pay pays purchase buy buys sell sells
    reserve rent subscribe unsubscribe register unregister enroll invite add adds assign unassign approve reject accept decline grant revoke
    enable disable activate deactivate restart reboot shutdown kill terminate execute exec eval invoke launch deploy install uninstall push
    rollback revert reset clear purge wipe erase drop truncate destroy archive unarchive restore unlock reopen resolve escalate forward reply
    unshare upload save put patch sync migrate withdraw follow unfollow unlike unblock mute unmute ban unban logout signin signout
    authenticate rotate generate
    lösche löschen sende senden erstelle erstellen ändere ändern zahle zahlen buche buchen storniere überweise
    eliminar borrar crear enviar actualizar pagar cancelar reservar supprimer créer envoyer modifier payer annuler réserver
    elimina crea invia aggiorna paga annulla
""")
"""Verbs of tools that change something. They count wherever they stand in a name."""

MAYBE_ACTS = _set("""
    like store share block close import start stop lock commit merge deposit transfer login set run post order book call charge change
    comment email mail message text notify trigger schedule plan place request report record log trade open press click type tap play pause
    resume mark tag label pin fork clone copy link attach bind make do process handle complete finish confirm return exchange swap mint
    turn switch toggle adjust fill draft compose print ship file exit navigate
""")
"""Verbs of the same kind that are nouns as well: `get_post` reads, `post_message` does not. They count where a verb stands."""

RECORDS = _set("""
    order trade request call account user customer client member employee shipment delivery parcel payment invoice refund ticket case job task
    flight booking reservation product item stock balance device server service build
""")
ABOUT = _set("status history details info information summary stats")
"""`order_status` and `call_history` are about a record, although their first words may be verbs."""

LOOKUPS = _set("lookup exists")
"""Words that say it from the end of a name, whatever stands before them."""

TELLS = _set("return give provide report")
"""Verbs with which a description says what a look-up answers, though in a name they may be acts."""

COMMANDS = _set(
    "sql query_sql statement command commands cmd shell shell_command bash code source_code script program javascript"
)
"""Arguments that hold a program: what it does is said in the call, not in the tool's name."""

JOINS = _set("and then or und y et")
"""Words after which another verb may follow."""


def tokens(name: str) -> list[str]:
    """The words of a name in camelCase, snake_case, kebab-case or with dots, in small letters."""
    return [word.lower() for word in _WORD.findall(name)]


def own_tokens(name: str) -> list[str]:
    """The words behind the last name space: `get issue` of `mcp__github__get_issue`."""
    return tokens(_SPACES.split(name)[-1])


def stem(verb: str) -> str:
    """A verb as names have it: `deletes` is delete, `searches` is search, `queries` is query."""
    known = READS | ACTS | MAYBE_ACTS | COMPUTES | TELLS
    for end, other in (("", ""), ("ies", "y"), ("es", ""), ("s", ""), ("ing", ""), ("ing", "e")):
        found = verb.removesuffix(end) + other if end else verb
        if verb.endswith(end) and found in known:
            return found
    return verb
