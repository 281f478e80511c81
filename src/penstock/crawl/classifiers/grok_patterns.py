"""The patterns that grok knows by name, written for a matcher without backtracking.

The names and what each is to match are those of Glue (developer guide, "Writing grok custom classifiers", built-in
patterns); RE2 has neither lookbehinds nor atomic groups, which only save a backtracking matcher time here.
"""

from collections.abc import Mapping

__all__ = ["BUILT_IN"]

_OCTET = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
_HEX = "[0-9A-Fa-f]"
_GROUP = f"{_HEX}{{1,4}}"


def _ipv6() -> str:
    """Return the pattern of RFC 4291's text: eight groups, of which ``::`` stands for one or more."""
    shortened = [
        f"(?:{_GROUP}:){{1,{left}}}(?::{_GROUP}){{1,{7 - left}}}" if left else f":(?::{_GROUP}){{1,7}}" for left in range(7)
    ]
    mapped = f"(?:{_GROUP}:){{6}}{_IPV4}|(?:(?:{_GROUP}:){{0,5}}{_GROUP})?::(?:{_GROUP}:){{0,5}}{_IPV4}"
    # The longest forms first: the matcher takes the first alternative that matches.
    full = f"(?:{_GROUP}:){{7}}{_GROUP}"
    return f"(?:{'|'.join([mapped, full, *reversed(shortened), f'(?:{_GROUP}:){{1,7}}:', '::'])})(?:%[0-9A-Za-z]+)?"


_IPV4 = rf"(?:{_OCTET}\.){{3}}{_OCTET}"

BUILT_IN: Mapping[str, str] = {
    "USERNAME": r"[a-zA-Z0-9._-]+",
    "USER": "%{USERNAME}",
    "INT": r"[+-]?\d+",
    "BASE10NUM": r"[+-]?(?:\d+(?:\.\d+)?|\.\d+)",
    "NUMBER": "%{BASE10NUM}",
    "BASE16NUM": f"[+-]?(?:0x)?{_HEX}+",
    "BASE16FLOAT": rf"\b[+-]?(?:0x)?(?:{_HEX}+(?:\.{_HEX}*)?|\.{_HEX}+)\b",
    "BOOLEAN": "(?i:true|false)",
    "POSINT": r"\b[1-9]\d*\b",
    "NONNEGINT": r"\b\d+\b",
    "WORD": r"\b\w+\b",
    "NOTSPACE": r"\S+",
    "SPACE": r"\s*",
    "DATA": ".*?",
    "GREEDYDATA": ".*",
    "QUOTEDSTRING": r'"(?:\\.|[^\\"])*"|' + r"'(?:\\.|[^\\'])*'|" + r"`(?:\\.|[^\\`])*`",
    "QS": "%{QUOTEDSTRING}",
    "UUID": f"{_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}",
    # Networks.
    "MAC": "%{CISCOMAC}|%{WINDOWSMAC}|%{COMMONMAC}",
    "CISCOMAC": rf"(?:{_HEX}{{4}}\.){{2}}{_HEX}{{4}}",
    "WINDOWSMAC": f"(?:{_HEX}{{2}}-){{5}}{_HEX}{{2}}",
    "COMMONMAC": f"(?:{_HEX}{{2}}:){{5}}{_HEX}{{2}}",
    "IPV6": _ipv6(),
    "IPV4": _IPV4,
    "IP": "%{IPV6}|%{IPV4}",
    "HOSTNAME": r"\b[0-9A-Za-z][0-9A-Za-z_-]{0,62}(?:\.[0-9A-Za-z][0-9A-Za-z_-]{0,62})*\.?",
    "HOST": "%{HOSTNAME}",
    "IPORHOST": "%{IP}|%{HOSTNAME}",
    "HOSTPORT": "%{IPORHOST}:%{POSINT}",
    # Paths.
    "PATH": "%{UNIXPATH}|%{WINPATH}",
    "UNIXPATH": r"/(?:[\w%!$@:.,~+=&*-]|\\.|/)*",
    "TTY": r"/dev/(?:pts|tty[pq])?(?:\w+)?/?\d+",
    "WINPATH": r"(?:[A-Za-z]:|\\)(?:\\[^\\?*]*)+",
    "URIPROTO": r"[A-Za-z][A-Za-z0-9+.-]*",
    "URIHOST": "%{IPORHOST}(?::%{POSINT})?",
    "URIPATH": r"(?:/[A-Za-z0-9$.+!*'(){},~:;=@#%_-]*)+",
    "URIPARAM": r"\?[A-Za-z0-9$.+!*'|(){},~@#%&/=:;_?\[\]-]*",
    "URIPATHPARAM": "%{URIPATH}(?:%{URIPARAM})?",
    "URI": "%{URIPROTO}://(?:%{USER}(?::[^@]*)?@)?(?:%{URIHOST})?(?:%{URIPATHPARAM})?",
    # Times.
    "MONTH": r"\b(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|"
    r"Sep(?:tember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\b",
    "MONTHNUM": "1[0-2]|0?[1-9]",
    "MONTHNUM2": "0[1-9]|1[0-2]",
    "MONTHDAY": "3[01]|[12][0-9]|0?[1-9]",
    "DAY": r"\b(?:Mon(?:day)?|Tue(?:sday)?|Wed(?:nesday)?|Thu(?:rsday)?|Fri(?:day)?|Sat(?:urday)?|Sun(?:day)?)\b",
    "YEAR": r"(?:\d\d){1,2}",
    "HOUR": "2[0123]|[01]?[0-9]",
    "MINUTE": "[0-5][0-9]",
    "SECOND": "(?:[0-5]?[0-9]|60)(?:[:.,][0-9]+)?",
    "TIME": "%{HOUR}:%{MINUTE}(?::%{SECOND})?",
    "DATE_US": "%{MONTHNUM}[/-]%{MONTHDAY}[/-]%{YEAR}",
    "DATE_EU": "%{MONTHDAY}[./-]%{MONTHNUM}[./-]%{YEAR}",
    "DATE": "%{DATE_US}|%{DATE_EU}",
    "DATESTAMP_US": "%{DATE_US}[- ]%{TIME}",
    "DATESTAMP_EU": "%{DATE_EU}[- ]%{TIME}",
    "DATESTAMP": "%{DATE}[- ]%{TIME}",
    "ISO8601_TIMEZONE": "Z|[+-]%{HOUR}(?::?%{MINUTE})",
    "ISO8601_SECOND": "%{SECOND}|60",
    "TIMESTAMP_ISO8601": "%{YEAR}-%{MONTHNUM}-%{MONTHDAY}[T ]%{HOUR}:?%{MINUTE}(?::?%{SECOND})?(?:%{ISO8601_TIMEZONE})?",
    "TZ": "[PMCE][SD]T|UTC",
    "DATESTAMP_RFC822": "%{DAY} %{MONTH} %{MONTHDAY} %{YEAR} %{TIME} %{TZ}",
    "DATESTAMP_RFC2822": "%{DAY}, %{MONTHDAY} %{MONTH} %{YEAR} %{TIME} %{ISO8601_TIMEZONE}",
    "DATESTAMP_OTHER": "%{DAY} %{MONTH} %{MONTHDAY} %{TIME} %{TZ} %{YEAR}",
    "DATESTAMP_EVENTLOG": "%{YEAR}%{MONTHNUM2}%{MONTHDAY}%{HOUR}%{MINUTE}%{SECOND}",
    "HTTPDATE": "%{MONTHDAY}/%{MONTH}/%{YEAR}:%{TIME} %{INT}",
    "CISCOTIMESTAMP": "%{MONTH} %{MONTHDAY} %{TIME}",
    # Logs.
    "SYSLOGTIMESTAMP": "%{MONTH} +%{MONTHDAY} %{TIME}",
    "PROG": r"[\w._/%-]+",
    "SYSLOGPROG": r"%{PROG:program}(?:\[%{POSINT:pid}\])?",
    "SYSLOGHOST": "%{IPORHOST}",
    "SYSLOGFACILITY": "<%{NONNEGINT:facility}.%{NONNEGINT:priority}>",
    "SYSLOGBASE": "%{SYSLOGTIMESTAMP:timestamp} (?:%{SYSLOGFACILITY} )?%{SYSLOGHOST:logsource} %{SYSLOGPROG}:",
    "COMMONAPACHELOG": r"%{IPORHOST:clientip} %{USER:ident} %{USER:auth} \[%{HTTPDATE:timestamp}\] "
    r'"(?:%{WORD:verb} %{NOTSPACE:request}(?: HTTP/%{NUMBER:httpversion})?|%{DATA:rawrequest})" '
    r"%{NUMBER:response} (?:%{NUMBER:bytes}|-)",
    "COMBINEDAPACHELOG": "%{COMMONAPACHELOG} %{QS:referrer} %{QS:agent}",
    "COMMONAPACHELOG_DATATYPED": r"%{IPORHOST:clientip} %{USER:ident} %{USER:auth} \[%{HTTPDATE:timestamp}\] "
    r'"(?:%{WORD:verb} %{NOTSPACE:request}(?: HTTP/%{NUMBER:httpversion:float})?|%{DATA:rawrequest})" '
    r"%{NUMBER:response:int} (?:%{NUMBER:bytes:long}|-)",
    "LOGLEVEL": "(?i:trace|debug|notice|info(?:rmation)?|warn(?:ing)?|err(?:or)?|crit(?:ical)?|fatal|severe|"
    "emerg(?:ency)?|alert)",
}
"""Each pattern by its name; a reference ``%{NAME:field}`` makes a column."""
