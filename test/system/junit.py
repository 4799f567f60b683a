"""Reads a report in JUnit's XML, and refuses a report that Ant's or Jenkins' schema would refuse."""

import re
from xml.etree import ElementTree

# The attributes that an element must have, and the elements in it.
ATTRIBUTES = {"testsuites": set(), "properties": set(), "system-out": set(), "system-err": set(), "property": {"name", "value"},
              "testsuite": {"id", "package", "name", "timestamp", "hostname", "tests", "failures", "errors", "time"},
              "testcase": {"name", "classname", "time"},
              "failure": {"type", "message"}, "error": {"type", "message"}, "skipped": {"message"}}
CHILDREN = {"testsuites": "testsuite", "testsuite": "properties (testcase )*system-out system-err",
            "properties": "(property )*property", "testcase": "(failure|error|skipped)?"}
COUNTED = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def check_element(element):
    if not ATTRIBUTES[element.tag] <= set(element.attrib):
        raise AssertionError(f"{element.tag} has only {element.attrib}")
    children = " ".join(child.tag for child in element)
    if not re.fullmatch(CHILDREN.get(element.tag, ""), children):
        raise AssertionError(f"{element.tag} holds {children}")
    for child in element:
        check_element(child)


def read_junit(path):
    """The suite; and the end of each test by its name: "passed", "failure", "error" or "skipped"."""
    root = ElementTree.parse(path).getroot()
    check_element(root)
    suite, = root
    ends = {test.get("name"): test[0].tag if len(test) else "passed" for test in suite.iter("testcase")}
    counts = {"tests": len(ends), **{name: list(ends.values()).count(end) for name, end in COUNTED.items()}}
    if {name: int(suite.get(name)) for name in counts} != counts:
        raise AssertionError(f"{suite.attrib}, and there are {counts}")
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.get("timestamp")):
        raise AssertionError(suite.get("timestamp"))
    return suite, ends
