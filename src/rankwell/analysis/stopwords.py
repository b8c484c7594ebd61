"""Stop-word lists: words so common that a search is better without them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

# The 33 words that Lucene has left out of English text since its beginnings.
LUCENE = """
a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to
was will with
"""

# NLTK's English list as it was when it had 179 words (S3 names that number); later releases of its data have more.
NLTK = """
i me my myself we our ours ourselves you you're you've you'll you'd your yours yourself yourselves he him his himself
she she's her hers herself it it's its itself they them their theirs themselves
what which who whom this that that'll these those
am is are was were be been being have has had having do does did doing
a an the and but if or because as until while of at by for with about against between into through during before after
above below to from up down in out on off over under again further then once here there when where why how
all any both each few more most other some such no nor not only own same so than too very
s t can will just don don't should should've now d ll m o re ve y
ain aren aren't couldn couldn't didn didn't doesn doesn't hadn hadn't hasn hasn't haven haven't isn isn't ma
mightn mightn't mustn mustn't needn needn't shan shan't shouldn shouldn't wasn wasn't weren weren't won won't
wouldn wouldn't
"""

# S0, appendix A.3. The study also lists punctuation, which never becomes a token here.
S0 = """
a about after all also always am an and any are at be been being but by came can cant come could did didn't do does
doesn't doing don't else for from get give goes going had happen has have having how i if ill i'm in into is isn't it
its i've just keep let like made make many may me mean more most much no not now of only or our really say see some
something take tell than that the their them then they thing this to try up us use used uses very want was way we what
when where which who why will with without wont you your youre
"""

STOPWORDS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "lucene": frozenset(LUCENE.split()),
        "nltk": frozenset(NLTK.split()),
        "none": frozenset(),
        "s0": frozenset(S0.split()),
    }
)
