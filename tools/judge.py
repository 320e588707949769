"""Judges generated records with a clinician's common sense, knowing nothing of the program.

It reads the long tables that `consequence export COHORT csv` writes, one of real records and one of
generated ones, and titles of codes from the tables that the source itself came with. It counts absurd
records: codes of the other sex, encounters after death, deaths in stays that ended otherwise, two sexes, two
ages, no sex or no age where every real record has one; encounters without a code; codes of families (what stands before
the first `//`) that real encounters never have without a stay or a discharge; two discharges in one encounter; and
diagnoses of two editions of the ICD in one encounter. And it compares how frequent deaths, pregnancies and common codes are.

    python tools/judge.py --real real.csv --synthetic synthetic.csv --titles CONCEPT.csv.gz

What it takes for female, male or pregnant stands in this file alone: the program reads none of it.
"""

import argparse
import csv
import gzip
import json
import random
import re
import statistics
import sys
from collections import Counter
from dataclasses import dataclass, field

# A title with one of these speaks of one sex, unless a word below takes that back.
PREGNANT = re.compile(
    r"pregnan|antenatal|prenatal|antepartum|postpartum|puerper|obstetric|childbirth|gestation|"
    r"preeclamp|eclampsia|labou?r\b|cesarean|caesarean|episiotomy|miscarriage|abortion|placent|"
    r"amnio|ectopic|uterine fundal height|fetal (heart|anatomy|monitor)|umbilical cord prolapse|"
    r"(normal|vaginal|breech|forceps|instrumental) delivery|outcome of delivery|tubal ligation"
)
FEMALE = re.compile(
    r"\bfemale (breast|genital|organ|pelvi|infertil)|\bbreast.*\(female\)|ovar(y|ian|ies)|uterus|uteri\b|uterine|"
    r"endometri|cervix|cervicitis|pap(anicolaou)? smear|vagin|vulv|hysterectomy|menstru|menopaus|"
    r"menorrh|fallopian|salping|mammogra(m|phy) screening|polycystic ovar|labia\b|cystocele"
)
MALE = re.compile(
    r"prostat|testis|testic|testes|penis|penile|scrot|spermat|epididym|vasectomy|orchi(tis|ectomy)|"
    r"hydrocele|phimosis|erectile|hypospadias|\bmale (breast|genital|infertil)|circumcision"
)
# The child of a pregnancy is of either sex, tests look for what is not there, and so on.
NEITHER = re.compile(
    r"newborn|neonat|liveborn|perinatal|infant|born in hospital|affecting fetus|ectopic (beat|atrial|ventric)|"
    r"family history|prostatic specific antigen.*female|labou?ratory|testing\b|prostaglandin|"
    r"cervical (spine|vertebra|disc|spondyl|lymph|region|strain|sprain|radic)|neck"
)

DEAD = re.compile(r"(^|//)(DEATH|MEDS_DEATH)(//|$)|DISCHARGE.*(EXPIRED|DEAD|DIED)|(^|//)EXPIRED$", re.I)


def between(low, high):
    return lambda number: low <= number < high


# Families of ICD codes. Bounds are of the three-character category, with digits after it as decimals.
ICD9 = [
    ("pregnant", "", between(630, 680)),
    ("pregnant", "V", lambda number: int(number) in (22, 23, 24, 27, 28)),
    ("female", "", between(174, 175)),
    ("female", "", between(179, 185)),
    ("male", "", between(175, 176)),
    ("male", "", between(185, 188)),
    ("female", "", between(218, 222)),
    ("male", "", between(222, 223)),
    ("female", "", between(256, 257)),
    ("male", "", between(257, 258)),
    ("male", "", between(600, 609)),
    ("female", "", between(614, 630)),
]
ICD9_PROCEDURE = [
    ("male", between(60, 65)),
    ("female", between(65, 72)),
    ("pregnant", between(72, 76)),
]
ICD10 = [
    ("pregnant", "O", between(0, 100)),
    ("pregnant", "Z", lambda number: int(number) in (33, 34)),
    ("female", "C", between(51, 59)),
    ("male", "C", between(60, 64)),
    ("female", "D", between(25, 29)),
    ("male", "D", between(29, 30)),
    ("female", "D", lambda number: int(number) == 6),
    ("male", "N", between(40, 54)),
    ("female", "N", between(70, 99)),
]


def icd9_kind(code):
    match = re.fullmatch(r"([EV]?)(\d{2,3})(\d*)", code.replace(".", ""))
    if not match:
        return None
    letter, digits, more = match.groups()
    if letter == "" and len(digits) < 3:
        return None
    number = float(f"{digits}.{more or 0}") if letter != "V" else float(f"{(digits + more)[:2]}.0")
    return next((kind for kind, before, holds in ICD9 if before == letter and holds(number)), None)


def icd9_procedure_kind(code):
    match = re.fullmatch(r"(\d{2})\.?(\d*)", code)
    if not match:
        return None
    number = float(f"{match.group(1)}.{match.group(2) or 0}")
    return next((kind for kind, holds in ICD9_PROCEDURE if holds(number)), None)


def icd10_kind(code):
    match = re.fullmatch(r"([A-Z])(\d)([0-9A-Z])[0-9A-Z.]*", code)
    if not match:
        return None
    letter, tens, ones = match.groups()
    number = float(tens + (ones if ones.isdigit() else "9"))
    return next((kind for kind, before, holds in ICD10 if before == letter and holds(number)), None)


def family_kind(name):
    """The kind of a code by its family, where its name tells of which system it is."""
    system, _, code = name.rpartition("//")
    system = system.upper().replace("-", "")
    if not code:
        return None
    if "PROC" in system:
        return icd9_procedure_kind(code) if re.search(r"ICD.*9", system) else None
    if re.search(r"ICD.*10", system):
        return icd10_kind(code)
    if re.search(r"ICD.*9", system):
        return icd9_kind(code)
    return None


def title_kind(title):
    """The kind of a code by the words of its title."""
    title = title.lower()
    if NEITHER.search(title):
        return None
    for kind, words in (("pregnant", PREGNANT), ("female", FEMALE), ("male", MALE)):
        if words.search(title):
            return kind
    return None


def table(path):
    opened = gzip.open if str(path).endswith(".gz") else open
    return opened(path, "rt", encoding="utf-8", errors="replace", newline="")


# The columns of codes and titles in the tables that sources come with, and what stands before a code.
TITLES = [
    (("vocabulary_id", "concept_code", "concept_name"), None),
    (("ICD9_CODE", "LONG_TITLE"), "ICD9"),
    (("icd_code", "long_title"), "ICD"),
    (("dgns_cd", "longdesc"), "ICD9"),
]


def plain(name):
    """A code as it is compared: without dots, the last part only."""
    return name.rpartition("//")[2].replace(".", "").upper()


def read_titles(paths):
    """Titles by the system's first letters and the plain code."""
    titles = {}
    for path in paths:
        with table(path) as file:
            rows = csv.DictReader(file)
            columns = {name.lower(): name for name in rows.fieldnames or []}
            shape = next(
                (shape for shape in TITLES if all(name.lower() in columns for name in shape[0])), None
            )
            if shape is None:
                sys.exit(f"{path}: no table of titles that is known here")
            names, system = shape
            picked = [columns[name.lower()] for name in names]
            for row in rows:
                values = [row[name] or "" for name in picked]
                own = values[0] if system is None else system
                titles.setdefault((own.upper()[:4], plain(values[-2])), values[-1])
    return titles


def title_of(name, titles):
    system = name.partition("//")[0].upper()
    return titles.get((system[:4], plain(name))) or titles.get((system[:3], plain(name))) or ""


def kind_of(name, titles):
    """What a code tells of the sex: `pregnant`, `female`, `male` or nothing."""
    if name.partition("//")[0].upper() in ("SEX", "GENDER", "AGE"):
        return None
    by_family = family_kind(name)
    if by_family:
        return by_family
    # Names of drugs and discharges are titles themselves.
    own_words = name.rpartition("//")[2] if re.search(r"[a-z ]{4}|[A-Z]{5}", name.rpartition("//")[2]) else ""
    return title_kind(title_of(name, titles) or own_words)


@dataclass
class Subject:
    statics: list = field(default_factory=list)
    encounters: dict = field(default_factory=dict)


def read_subjects(path):
    subjects = {}
    with table(path) as file:
        for row in csv.DictReader(file):
            subject = subjects.setdefault(row["subject_id"], Subject())
            visit = int(row["visit"])
            if row["static"] == "1":
                subject.statics.append(row["code"])
            else:
                codes = subject.encounters.setdefault(visit, [])
                if row["code"]:
                    codes.append(row["code"])
    return subjects


def sex_of(code):
    match = re.fullmatch(r"(?:SEX|GENDER)//(F|M)(?:EMALE|ALE)?", code.upper())
    return match and match.group(1)


ABSURD = (
    "men with female codes",
    "women with male codes",
    "encounters after death",
    "deaths told by half",
    "two sexes",
    "two ages",
    "no sex",
    "no age",
    "encounters without a code",
    "codes outside of stays",
    "two ends of a stay",
    "two editions of the ICD",
)


def family(code):
    return code.partition("//")[0]


def edition(code):
    """The edition of the ICD that a code is of, if it is of one."""
    match = re.match(r"(?:DIAGNOSIS//)?ICD(?://)?(9|10)", code.upper())
    return match and match.group(1)


# What says that an encounter is a stay, or ends one.
STAYS = ("STAY", "DISCHARGE", "HOSPITAL_DISCHARGE")


def bound_to_stays(subjects, least=10):
    """Pairs of a family and one of `STAYS` that its codes never come without, in at least so many records. Told from real records."""
    records, apart, all_of = Counter(), Counter(), Counter()
    for subject in subjects.values():
        seen, broken, whole = set(), set(), set()
        for codes in subject.encounters.values():
            here = {family(code) for code in codes}
            seen |= {(one, stay) for one in here for stay in STAYS}
            broken |= {(one, stay) for one in here for stay in STAYS if stay not in here}
            whole |= {stay for stay in STAYS if stay not in here}
        records.update(seen), apart.update(broken), all_of.update(whole)
    return {
        pair
        for pair, count in records.items()
        # Where every encounter is a stay nothing is outside of one.
        if count >= least and not apart[pair] and all_of[pair[1]] and pair[0] != pair[1] and pair[0] != "GAP"
    }


def told_by_half(codes):
    """Whether an encounter has a death in a stay that ended otherwise, or a stay that ended in a death that was none."""
    dead = [code for code in codes if DEAD.search(code)]
    ends = any(code.upper().startswith("DISCHARGE") for code in dead)
    dies = any(not code.upper().startswith("DISCHARGE") for code in dead)
    return ends and not dies or dies and not ends and any(code.startswith("STAY//") for code in codes)


def judge(subjects, kinds, bound=frozenset()):
    """How many records are absurd, and how; how frequent deaths, pregnancies and codes are."""

    def outside(codes):
        here = {family(code) for code in codes}
        return any(one in here and stay not in here for one, stay in bound)

    def ends(codes):
        return sum(family(code) in STAYS[1:] for code in codes)

    # Only who has both kinds of codes can tell one without the other.
    told = {code.upper().startswith("DISCHARGE") for code in kinds if DEAD.search(code)}
    counts = Counter({name: 0 for name in ABSURD})
    code_records, code_visits, offenders = Counter(), Counter(), Counter()
    men = women = dead = pregnant = visits = 0
    for subject in subjects.values():
        sexes = {sex_of(code) for code in subject.statics} - {None}
        ages = {code for code in subject.statics if code.upper().startswith("AGE//")}
        seen = set()
        for codes in subject.encounters.values():
            visits += 1
            code_visits.update(set(codes))
            seen.update(codes)
        code_records.update(seen)
        found = {kinds[code] for code in seen}
        men += sexes == {"M"}
        women += sexes == {"F"}
        deaths = [visit for visit, codes in subject.encounters.items() if any(map(DEAD.search, codes))]
        dead += bool(deaths)
        pregnant += sexes == {"F"} and "pregnant" in found
        wrong = {
            "men with female codes": sexes == {"M"} and bool(found & {"female", "pregnant"}),
            "women with male codes": sexes == {"F"} and "male" in found,
            "encounters after death": bool(deaths) and max(subject.encounters) > min(deaths),
            "deaths told by half": len(told) == 2 and any(map(told_by_half, subject.encounters.values())),
            "two sexes": len(sexes) > 1,
            "two ages": len(ages) > 1,
            "no sex": not sexes,
            "no age": not ages,
            "encounters without a code": any(
                all(family(code) == "GAP" for code in codes) for codes in subject.encounters.values()
            ),
            "codes outside of stays": any(map(outside, subject.encounters.values())),
            "two ends of a stay": any(ends(codes) > 1 for codes in subject.encounters.values()),
            "two editions of the ICD": any(
                len({edition(code) for code in codes} - {None}) > 1 for codes in subject.encounters.values()
            ),
        }
        if wrong["men with female codes"]:
            offenders.update(code for code in seen if kinds[code] in ("female", "pregnant"))
        if wrong["women with male codes"]:
            offenders.update(code for code in seen if kinds[code] == "male")
        for name, is_so in wrong.items():
            counts[name] += is_so
    return {
        "records": len(subjects),
        "encounters": visits,
        "men": men,
        "women": women,
        "dead": dead,
        "pregnant women": pregnant,
        "absurd": dict(counts),
        "offenders": offenders.most_common(10),
        "code_records": code_records,
        "code_visits": code_visits,
    }


def share(part, whole):
    return part / whole if whole else 0.0


def compare(real, synthetic):
    """The two side by side: what is worse than in real records, and what is off by more than a fifth."""
    worse, shares = [], []
    for name in ABSURD:
        there = share(real["absurd"][name], real["records"])
        here = share(synthetic["absurd"][name], synthetic["records"])
        # "No sex" is absurd where real records all have one.
        if here > there:
            worse.append(name)
    pairs = [
        ("deaths", real["dead"], real["records"], synthetic["dead"], synthetic["records"]),
        (
            "women with pregnancy codes",
            real["pregnant women"],
            real["women"],
            synthetic["pregnant women"],
            synthetic["women"],
        ),
    ]
    commonest = [code for code, _ in real["code_visits"].most_common(50)]
    for code in commonest:
        pairs.append(
            (
                code,
                real["code_visits"][code],
                real["encounters"],
                synthetic["code_visits"][code],
                synthetic["encounters"],
            )
        )
    for name, part, whole, other_part, other_whole in pairs:
        there, here = share(part, whole), share(other_part, other_whole)
        ratio = here / there if there else None
        shares.append({"name": name, "real": there, "synthetic": here, "ratio": ratio, "count": part})
    return {"worse": worse, "shares": shares, "off": [row for row in shares if is_off(row)]}


def is_off(row):
    return row["ratio"] is not None and not 0.8 <= row["ratio"] <= 1.2


def off_by_luck(subjects, kinds, records, times=9):
    """How many shares are off where as many real records are drawn anew, with replacement: the median of
    several draws. Generated records cannot be expected to do better."""
    real, ids = judge(subjects, kinds), list(subjects)
    draw = random.Random(1)
    found = []
    for _ in range(times):
        drawn = {number: subjects[draw.choice(ids)] for number in range(records)}
        found.append(len(compare(real, judge(drawn, kinds))["off"]))
    return statistics.median(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--real", required=True, help="real records, as exported")
    parser.add_argument("--synthetic", required=True, help="generated records, as exported")
    parser.add_argument("--titles", nargs="*", default=[], help="tables with titles of codes")
    parser.add_argument("--json", action="store_true", help="everything, for programs")
    arguments = parser.parse_args()
    titles = read_titles(arguments.titles)
    real, synthetic = read_subjects(arguments.real), read_subjects(arguments.synthetic)
    names = {
        code
        for subjects in (real, synthetic)
        for subject in subjects.values()
        for codes in subject.encounters.values()
        for code in codes
    }
    kinds = {code: kind_of(code, titles) for code in names}
    bound = bound_to_stays(real)
    of = [judge(subjects, kinds, bound) for subjects in (real, synthetic)]
    found = compare(*of)
    found["off_by_luck"] = off_by_luck(real, kinds, len(synthetic))
    if arguments.json:
        for figures in of:
            figures.pop("code_records"), figures.pop("code_visits")
        print(json.dumps({"real": of[0], "synthetic": of[1], **found}, indent=1))
        return
    print(f"{'':28}{'real':>12}{'synthetic':>12}")
    for name in ("records", "encounters", "men", "women", "dead", "pregnant women"):
        print(f"{name:28}{of[0][name]:>12,}{of[1][name]:>12,}")
    for name in ABSURD:
        mark = "  <- worse" if name in found["worse"] else ""
        print(f"{name:28}{of[0]['absurd'][name]:>12,}{of[1]['absurd'][name]:>12,}{mark}")
    if of[1]["offenders"]:
        print("codes of the other sex, most frequent first:")
        for code, count in of[1]["offenders"]:
            print(f"  {count:>6,}  {code}  {title_of(code, titles)}")
    luck = found["off_by_luck"]
    print(f"shares off by more than a fifth: {len(found['off'])} of {len(found['shares'])}; real records drawn anew: {luck}")
    for row in found["off"]:
        print(f"  {row['name'][:50]:50} {row['real']:.4f} -> {row['synthetic']:.4f} ({row['count']} real)")


if __name__ == "__main__":
    main()
