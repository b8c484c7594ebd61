"""The modules whose documentation makes up `rankwell:python`.

A list rather than a walk over the library, because importing is the only way to read a docstring and some modules act
when they are imported: `antigravity` opens a browser, `this` prints, `readline` takes over the terminal (and comes with
`pdb`, hence with `doctest`), `turtle` and `idlelib` load a window system. What left the library between Python 3.11 and
3.14 is not here either, so that one set of judgments fits them all. The order says which module a name belongs to when
two export it: the earlier one.
"""

from __future__ import annotations

MODULES: tuple[str, ...] = tuple(
    """
    builtins

    abc argparse array ast asyncio atexit base64 bdb binascii bisect bz2 cProfile calendar cmath cmd code codecs codeop
    collections collections.abc colorsys compileall concurrent.futures configparser contextlib contextvars copy copyreg
    csv ctypes ctypes.util curses curses.ascii curses.panel curses.textpad dataclasses datetime dbm dbm.dumb decimal
    difflib dis email email.charset email.encoders email.errors email.generator email.header
    email.headerregistry email.message email.mime.application email.mime.audio email.mime.base email.mime.image
    email.mime.message email.mime.multipart email.mime.nonmultipart email.mime.text email.parser email.policy
    email.utils ensurepip enum errno faulthandler fcntl filecmp fileinput fnmatch fractions ftplib functools gc getopt
    getpass gettext glob graphlib grp gzip hashlib heapq hmac html html.entities html.parser http http.client
    http.cookiejar http.cookies http.server imaplib importlib importlib.abc importlib.machinery importlib.metadata
    importlib.resources importlib.util inspect io ipaddress itertools json json.tool keyword linecache locale logging
    logging.config logging.handlers lzma mailbox marshal math mimetypes mmap modulefinder multiprocessing
    multiprocessing.connection multiprocessing.managers multiprocessing.pool multiprocessing.shared_memory
    multiprocessing.sharedctypes netrc numbers opcode operator optparse os os.path pathlib pickle pickletools
    pkgutil platform plistlib poplib pprint profile pstats pty pwd py_compile pyclbr queue quopri random re
    reprlib resource runpy sched secrets select selectors shelve shlex shutil signal site smtplib socket socketserver
    sqlite3 ssl stat statistics string stringprep struct subprocess symtable sys sysconfig syslog tabnanny tarfile
    tempfile termios textwrap threading time timeit token tokenize tomllib trace traceback tracemalloc tty types typing
    unicodedata unittest unittest.mock urllib urllib.error urllib.parse urllib.request urllib.response
    urllib.robotparser uuid venv warnings wave weakref webbrowser wsgiref wsgiref.handlers wsgiref.headers
    wsgiref.simple_server wsgiref.util wsgiref.validate xml.dom xml.dom.minidom xml.dom.pulldom xml.etree.ElementTree
    xml.parsers.expat xml.sax xml.sax.handler xml.sax.saxutils xml.sax.xmlreader xmlrpc.client xmlrpc.server zipapp
    zipfile zipimport zlib zoneinfo

    __future__
    """.split()  # noqa: SIM905 - a word per line would be two hundred lines
)
