"""Runs substrait-validator over plans that EXPLAIN (FORMAT SUBSTRAIT_JSON) printed.

    python validate.py PLAN.json ...

Prints a JSON object of the validator's errors and warnings: how often each came, by its
code and text, with numbers and lists cut out. The YAML files of extensions are not read: those of
Substrait itself no longer are of the form that this validator takes.

The validator (0.1.4) knows Substrait 0.57, where Serac writes 0.85. What has only got another form since is rewritten:
extensions are named by URIs, groupings hold their expressions, fetches and rows literals.
"""

import collections
import json
import re
import sys

import substrait_validator


def rewrite(node):
    if isinstance(node, list):
        return [rewrite(n) for n in node]
    if not isinstance(node, dict):
        return node
    node = {k: rewrite(v) for k, v in node.items()}
    if "extensionUrnReference" in node:
        node["extensionUriReference"] = node.pop("extensionUrnReference")
    if "extensionUrns" in node:
        node["extensionUris"] = [
            {"extensionUriAnchor": u["extensionUrnAnchor"], "uri": uri(u["urn"])} for u in node.pop("extensionUrns")
        ]
    if "groupingExpressions" in node and "groupings" in node:
        expressions = node.pop("groupingExpressions")
        for g in node["groupings"]:
            g["groupingExpressions"] = [expressions[i] for i in g.pop("expressionReferences", [])]
    for one in ("count", "offset"):
        if one + "Expr" in node:
            node[one] = node.pop(one + "Expr")["literal"]["i64"]
    if "virtualTable" in node:
        rows = node["virtualTable"].pop("expressions")
        node["virtualTable"]["values"] = [{"fields": [f["literal"] for f in row["fields"]]} for row in rows]
    return node


def uri(urn):
    _, owner, name = urn.split(":")
    if owner == "io.substrait":
        return f"https://github.com/substrait-io/substrait/blob/main/extensions/{name}.yaml"
    return f"serac/{name}.yaml"


def main(plans):
    config = substrait_validator.Config()
    complaints = collections.Counter()
    for file in plans:
        with open(file) as f:
            plan = rewrite(json.load(f))
        plan["version"] = {"minorNumber": 57, "producer": "serac"}
        for line in substrait_validator.plan_to_diagnostics_str(json.dumps(plan), config).splitlines():
            complaint = re.fullmatch(r"(Error|Warning) at (.*?): (.*) \(code (\d+)\)", line)
            if complaint:  # the rest is information
                level, _, text, code = complaint.groups()
                text = re.sub("[0-9]+", "N", text.split(",")[0])
                complaints[f"{level} {code}: {text}"] += 1
    print(json.dumps(dict(sorted(complaints.items())), indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
