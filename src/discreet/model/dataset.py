"""The public description of a dataset: unit, variables, hierarchies, survey design and protection.

The custodian declares all of it in `dataset.toml`; nothing is derived from records. `Dataset` checks it as a whole.

`[access]` names the accounts that may see it on a server. No number depends on it; `discreet relabel` may change it after a
load. Without the section the option `access` of the workspace decides. It restricts the server only, not those who can
read the workspace's folder.
"""

import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property, wraps
from itertools import pairwise
from typing import Any, Concatenate, ParamSpec, TypeVar

from discreet.errors import BadDescription, UnknownVariable
from discreet.model.boundaries import Boundaries
from discreet.model.description import sections
from discreet.model.magnitude import NumericMeasure
from discreet.model.messages.text import message, nearest, one_line
from discreet.model.protection import Protection
from discreet.model.survey import SamplingDesign, Survey
from discreet.model.variable import CodeList, Hierarchy, StructuralZero, Variable

#: Each role may do what those before it may.
ROLES = ("reader", "analyst", "custodian")
PUBLIC = "public"
AUDIENCES = (PUBLIC, *ROLES)


@dataclass(frozen=True, slots=True)
class Access:
    """The accounts that may see a dataset.

    Args:
        who: "public" or the lowest role with access; empty where the workspace decides.
        accounts: Only these accounts and custodians; empty for all accounts of the role.
    """

    who: str = ""
    accounts: tuple[str, ...] = ()

    def allows(self, account: str | None, role: str | None, otherwise: str = PUBLIC) -> bool:
        """Whether an account may see the dataset; an anonymous reader has no account and no role.

        `otherwise` is the audience where the description names none.

        >>> Access("analyst").allows("anna", "reader"), Access("analyst").allows("anna", "custodian")
        (False, True)
        >>> Access().allows(None, None), Access().allows(None, None, otherwise="reader")
        (True, False)
        """
        who = self.who or (ROLES[0] if self.accounts else otherwise)
        if who == PUBLIC:
            return True
        if account is None or role is None or ROLES.index(role) < ROLES.index(who):
            return False
        return not self.accounts or account in self.accounts or role == ROLES[-1]


def parse_access(section: Any) -> Access:
    """Parse `[access]`."""
    sections.check_section(section, "access", [field.name for field in fields(Access)])
    who, accounts = section.get("who", ""), section.get("accounts", [])
    known, named = "who" not in section or who in AUDIENCES, sections.is_texts(accounts) and all(accounts)
    sections.refuse_first(
        (not known, f"`who` of [access] is {who!r}.", f"Give one of: {', '.join(AUDIENCES)}."),
        (not named, f"`accounts` of [access] is {accounts!r}.", "Give a list of names of accounts."),
        (
            accounts and who == PUBLIC,
            "[access] names accounts, and says that everybody may.",
            "Leave out `accounts`, or give a role.",
        ),
    )
    return Access(who, tuple(accounts))


P = ParamSpec("P")
T = TypeVar("T")
_ID = re.compile(r"[a-z][a-z0-9-]{0,63}\Z")
#: The `id_column` of a file whose records have no id: their keys follow their places in the file.
ROW_NUMBER = "row number"


@dataclass(frozen=True)
class Dataset:
    """One dataset as described; see docs/reference/dataset-toml.md for each field."""

    id: str
    label: str
    variables: tuple[Variable, ...]
    id_column: str
    description: str = ""
    source: str = ""
    version: str = "1"
    reference_date: str = ""
    unit: str = "records"
    population: str = ""
    lineage: str = ""
    weight_column: str | None = None
    weight_decimals: int = 4
    key_column: str | None = None
    unit_column: str | None = None
    key_decimals: int = 0
    hierarchies: tuple[Hierarchy, ...] = ()
    structural_zeros: tuple[StructuralZero, ...] = ()
    code_lists: tuple[CodeList, ...] = ()
    measures: tuple[NumericMeasure, ...] = ()
    survey: Survey | None = None
    protection: Protection = Protection()  # noqa: RUF009 - frozen value
    #: The kind in [engine], or empty.
    kept_by: str = ""
    file: sections.FileOptions = sections.FileOptions()  # noqa: RUF009 - frozen value
    #: The [[rule]] sections, unparsed; see `rules.rule_set.parse_rules`.
    rules: tuple[Mapping[str, Any], ...] = field(default=(), hash=False)
    #: The shapes of areas by variable, stored as separate files of a version.
    boundaries: Mapping[str, Boundaries] = field(default_factory=dict, hash=False, compare=False)
    about: sections.About = sections.About()  # noqa: RUF009 - frozen value
    publish: sections.Publish = sections.Publish()  # noqa: RUF009 - frozen value
    access: Access = Access()
    #: A hash of the labels if they were corrected after the load; no number depends on it.
    wording: str = ""
    #: Whether the description is a draft that nobody has checked: pages, notes and citations say so.
    unchecked_draft: bool = False

    def __post_init__(self) -> None:
        sections.refuse_first(
            (
                not _ID.match(self.id),
                f"The dataset id {self.id!r} is not usable.",
                "Use lower-case letters, digits and hyphens, starting with a letter, at most 64.",
            ),
            (
                len({variable.name.lower() for variable in self.variables}) != len(self.variables),
                "Two variables have the same name, or names that differ in capitals only.",
                "Give every variable its own name.",
            ),
            (not self.variables, "The dataset has no variables.", "Add a [[variable]] section for each."),
            (
                not (0 <= self.weight_decimals <= 9 and 0 <= self.key_decimals <= 9),
                f"weight_decimals is {self.weight_decimals} and key_decimals is {self.key_decimals}.",
                "Both must lie between 0 and 9.",
            ),
        )
        object.__setattr__(self, "lineage", self.lineage or self.id)
        for hierarchy in self.hierarchies:
            self._check_hierarchy(hierarchy)
        if self.survey is not None:
            self._check_survey(self.survey)
        self._check_sections()
        for zero in self.structural_zeros:
            self._check_zero(zero)
        for code_list in self.code_lists:
            self._check_code_list(code_list)

    @cached_property
    def _by_name(self) -> dict[str, Variable]:
        return {variable.name: variable for variable in self.variables}

    def variable(self, name: str) -> Variable:
        """The variable of a name; the error for an unknown name suggests the nearest."""
        try:
            return self._by_name[name]
        except KeyError:
            raise UnknownVariable(
                message('The dataset "{id}" has no variable "{name}".', id=self.id, name=name),
                nearest(name, self._by_name),
            ) from None

    @cached_property
    def geography(self) -> frozenset[str]:
        """The variables that are levels of a geography."""
        return frozenset(level for h in self.hierarchies if h.geography for level in h.levels)

    @cached_property
    def finest_geography(self) -> str | None:
        """The finest level of the geography, by which records are sorted."""
        return next((h.levels[-1] for h in self.hierarchies if h.geography), None)

    @cached_property
    def cache(self) -> dict[tuple[Hashable, ...], Any]:
        """A cache for values derived from the description, keyed by the function that computes them."""
        return {}

    def _require(self, name: str, text: str) -> Variable:
        """The variable of a name in the description; `text` is the error for an unknown name."""
        if name not in self._by_name:
            raise BadDescription(text, nearest(name, self._by_name))
        return self._by_name[name]

    def _check_sections(self) -> None:
        if self.weight_column is not None and self.protection.zeros == "perturbed":
            raise BadDescription(
                'zeros = "perturbed" is for counts: an empty cell has no weight that a made-up count could have.',
                'Take out `weight_column`, or set zeros = "kept".',
            )
        if self.measures:
            self._check_measures()
        for name in self.publish.variable_names:
            self._require(name, f'[publish] names the variable "{name}".')
        for word in self.protection.fit_to:
            for name in word.split("*"):
                self._require(name.strip(), f'fit_to of [protection] names the variable "{name.strip()}".')

    def _check_measures(self) -> None:
        names = [measure.name for measure in self.measures]
        definitions = {measure.protection.definition for measure in self.measures}
        sections.refuse_first(
            (
                len({*names, *(variable.name.lower() for variable in self.variables)})
                < len(names) + len(self.variables),
                "A measure has the name of a variable or of another measure.",
                "Give every [[measure]] its own name; its `column` may be that of a variable.",
            ),
            (
                self.protection.is_dp,
                "[[measure]] is for the method cellkey: sums and means under dp are not available yet.",
                "Take the section out.",
            ),
            (
                self.weight_column is not None,
                "[[measure]] is for records without weights: weighted sums are not available yet.",
                "Take the section out, or `weight_column`.",
            ),
            (
                self.protection.zeros == "perturbed",
                'zeros = "perturbed" is for counts: nobody has the income of a made-up count.',
                'Take out [[measure]], or set zeros = "kept".',
            ),
            (
                definitions != {"discreet-1"} and not (self.key_column and self.key_decimals),
                "The definitions cellkey-1 and tau-argus-4 rotate the digits of decimal record keys.",
                "Name `key_column` and `key_decimals`, or use discreet-1.",
            ),
        )

    def _check_hierarchy(self, hierarchy: Hierarchy) -> None:
        levels = [
            self._require(
                name, f'The hierarchy "{hierarchy.name}" has the level "{name}", which is no variable.'
            )
            for name in hierarchy.levels
        ]
        for parents, children in pairwise(levels):
            coarse, fine = parents.name, children.name
            for category in children.categories:
                if category.parent not in parents:
                    unknown = f'the parent {category.parent!r}, which "{coarse}" does not have'
                    has = "no parent" if category.parent is None else unknown
                    raise BadDescription(
                        f'The category {category.code!r} of "{fine}" has {has}.',
                        f'Give every category of "{fine}" a parent that is a code of "{coarse}".',
                    )

    def _check_survey(self, survey: Survey) -> None:
        sections.refuse_first(
            (
                self.weight_column is None,
                "[survey] needs weights.",
                "Name their column with `weight_column`.",
            ),
            (
                survey.form == "invariant" and not self.protection.is_dp,
                'The weight form "invariant" is for the method dp with a public sample size.',
                'Use "average-weight", or another form of the cell key method.',
            ),
            (
                survey.only_weights and self.protection.keys in {"additive", "abs"},
                f'The weight form "{survey.form}" needs noise of its own, which "{self.protection.keys}" keys '
                "do not have.",
                'Use keys = "hashed", or the weight form "average-weight".',
            ),
            (
                self.protection.is_dp and survey.design != SamplingDesign(),
                "[survey] declares strata, clusters or replicates, and the method is dp.",
                "Leave them out: under dp errors come from noisy counts and `relative_variance` alone.",
            ),
        )
        for name, totals in survey.population_totals:
            known = self._require(name, f'`calibrated` of [survey] names the variable "{name}".').codes
            if sorted(code for code, _ in totals) != sorted(known):
                raise BadDescription(
                    f'`population_totals` of [survey] are of {[code for code, _ in totals][:5]}, the categories of "{name}" '
                    f"are {known[:5]}.",
                    "Give every category its known total; 0 where there is nobody.",
                )
        if survey.stratum is None:
            return
        codes = self._require(survey.stratum, f'[survey] names the variable "{survey.stratum}".').codes
        if survey.stratum in self.geography:
            raise BadDescription(
                f'The stratum "{survey.stratum}" of [survey] is a level of the geography: the total over strata '
                "would give away an area that is withheld.",
                "Use a stratum that is no geography, or another weight form.",
            )
        given = [code for code, _ in survey.stratum_weights]
        if set(given) != set(codes):
            raise BadDescription(
                f'The stratum weights are of {given[:5]}, the categories of "{survey.stratum}" are {codes[:5]}.',
                "Give every category one weight.",
            )

    def _check_code_list(self, code_list: CodeList) -> None:
        own = self._require(
            code_list.variable, f'The code list "{code_list.name}" is of the variable "{code_list.variable}".'
        )
        if [*self._by_name, *(other.name for other in self.code_lists)].count(code_list.name) > 1:
            raise BadDescription(
                f'"{code_list.name}" names a code list and something else.',
                "Give every code list its own name.",
            )
        unknown = [member for _, _, group in code_list.groups for member in group if member not in own]
        if unknown:
            raise BadDescription(
                f'The code list "{code_list.name}" groups {unknown[0]!r}, which "{own.name}" does not have.',
                nearest(unknown[0], own.codes),
            )

    def _check_zero(self, zero: StructuralZero) -> None:
        if not zero.where:
            raise BadDescription(
                "A structural zero names no variable.", "Add `where = { variable = [codes] }`."
            )
        for name, codes in (*zero.where, *((name, frozenset([code])) for name, code in zero.move_to)):
            own = self._require(name, f'A structural zero names the variable "{name}".')
            unknown = sorted(codes - set(own.codes))
            if unknown or not codes:
                raise BadDescription(
                    f'A structural zero names {unknown[:3] or "no codes"} of "{name}".',
                    "List codes of that variable's categories.",
                )

    def __repr__(self) -> str:
        return one_line(
            self, f"{self.id}: {self.label}, {len(self.variables)} variables, version {self.version}"
        )


def per_dataset(compute: Callable[Concatenate[Dataset, P], T]) -> Callable[Concatenate[Dataset, P], T]:
    """Cache the results of a function of a dataset and positional, hashable arguments with the dataset."""

    @wraps(compute)
    def look_up(dataset: Dataset, /, *args: P.args, **_none: P.kwargs) -> T:
        key = (compute, *args)
        if key not in dataset.cache:
            dataset.cache[key] = compute(dataset, *args, **_none)
        value: T = dataset.cache[key]
        return value

    return look_up
