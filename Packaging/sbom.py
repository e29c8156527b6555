#!/usr/bin/env python3
"""Writes the list of what the program is made of, in SPDX 2.3 as JSON.

    sbom.py --pins pins.json --program FILE --version 0.1.0 --commit HASH --epoch SECONDS --arch x86_64 \
      --part NAME=VERSION …

Swift packages come from the pins; --part names what is linked in from the toolchain and the machine. Same
input, same bytes: the name of the document is derived from the program's digest.
"""

import argparse
import datetime
import hashlib
import json
import pathlib
import re
import sys

EXCEPTION = "Apache-2.0 WITH Swift-exception"
# By the licence files of the packages. What is not named here is told as unknown.
LICENCES = {
    "async-http-client": "Apache-2.0", "swift-algorithms": EXCEPTION, "swift-argument-parser": EXCEPTION,
    "swift-asn1": "Apache-2.0", "swift-async-algorithms": EXCEPTION, "swift-atomics": EXCEPTION,
    "swift-certificates": "Apache-2.0", "swift-collections": EXCEPTION, "swift-configuration": "Apache-2.0",
    "swift-crypto": "Apache-2.0", "swift-distributed-tracing": "Apache-2.0",
    "swift-http-structured-headers": "Apache-2.0", "swift-http-types": "Apache-2.0", "swift-log": "Apache-2.0",
    "swift-nio": "Apache-2.0", "swift-nio-extras": "Apache-2.0", "swift-nio-http2": "Apache-2.0",
    "swift-nio-ssl": "Apache-2.0", "swift-nio-transport-services": "Apache-2.0", "swift-numerics": EXCEPTION,
    "swift-service-context": "Apache-2.0", "swift-service-lifecycle": "Apache-2.0",
    "swift-subprocess": EXCEPTION, "swift-system": EXCEPTION,
}
# Resolved with the others, and not linked into the program: for tests, or for parts of packages that are not used.
NOT_LINKED = {"swift-subprocess", "swift-crypto"}
# What --part may name: licence, where it comes from, what it is.
PARTS = {
    "swift": (EXCEPTION, "https://github.com/swiftlang/swift",
              "Standard library, concurrency, Dispatch and Foundation with ICU, linked in from the toolchain."),
    "libyaml": ("MIT", "https://github.com/yaml/libyaml", "The half that reads, in Sources/CYaml."),
    "libstdc++": ("GPL-3.0-or-later WITH GCC-exception-3.1", "https://gcc.gnu.org", "Linked in."),
    "libgcc": ("GPL-3.0-or-later WITH GCC-exception-3.1", "https://gcc.gnu.org", "Linked in."),
    "zlib": ("Zlib", "https://zlib.net", "Linked in."),
    "sqlite": ("blessing", "https://sqlite.org", "Linked in."),
}


def identifier(name):
    return "SPDXRef-Package-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def package(name, version, licence, location, **more):
    return {
        "SPDXID": identifier(name), "name": name, "versionInfo": version, "downloadLocation": location,
        "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": licence,
        "copyrightText": "NOASSERTION", **more,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pins", type=pathlib.Path, required=True)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    for name in ["version", "commit", "arch"]:
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--epoch", type=int, required=True)
    parser.add_argument("--part", action="append", default=[])
    options = parser.parse_args()
    try:
        pins = json.loads(options.pins.read_text(encoding="utf-8"))["pins"]
        digest = hashlib.sha256(options.program.read_bytes()).hexdigest()
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"sbom.py: {options.pins} or {options.program} cannot be read: {error!r}")

    home = "https://github.com/agent-eval/agent-eval"
    packages = [package(
        "agent-eval", options.version, "Apache-2.0", f"git+{home}.git@{options.commit}",
        checksums=[{"algorithm": "SHA256", "checksumValue": digest}], homepage=home,
        packageFileName="bin/agent-eval", primaryPackagePurpose="APPLICATION", supplier="NOASSERTION",
        comment=f"The program for Linux on {options.arch}; the digest is that of the stripped file.",
        externalRefs=[{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                       "referenceLocator": f"pkg:github/agent-eval/agent-eval@v{options.version}"}])]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", identifier("agent-eval"))]
    for pin in sorted(pins, key=lambda pin: pin["identity"]):
        name, state = pin["identity"], pin["state"]
        location = pin["location"].removesuffix(".git")
        version = state.get("version") or state.get("branch") or state["revision"]
        owner = "/".join(location.split("/")[-2:]).lower()
        packages.append(package(
            name, version, LICENCES.get(name, "NOASSERTION"), f"git+{location}.git@{state['revision']}",
            homepage=location, supplier="NOASSERTION", primaryPackagePurpose="LIBRARY",
            externalRefs=[{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                           "referenceLocator": f"pkg:github/{owner}@{version}"}]))
        if name in NOT_LINKED:
            relations.append((identifier(name), "TEST_DEPENDENCY_OF", identifier("agent-eval")))
        else:
            relations.append((identifier("agent-eval"), "STATIC_LINK", identifier(name)))
    for part in sorted(options.part):
        name, _, version = part.partition("=")
        if name not in PARTS or not version:
            sys.exit(f"sbom.py: --part {part}: write NAME=VERSION, NAME one of {', '.join(sorted(PARTS))}")
        licence, location, comment = PARTS[name]
        packages.append(package(name, version, licence, location, supplier="NOASSERTION",
                                primaryPackagePurpose="LIBRARY", comment=comment))
        relations.append((identifier("agent-eval"), "STATIC_LINK", identifier(name)))

    created = datetime.datetime.fromtimestamp(options.epoch, datetime.timezone.utc)
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"agent-eval-{options.version}-linux-{options.arch}",
        "documentNamespace": f"{home}/spdx/{options.version}-{options.arch}-{digest}",
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: agent-eval-package"],
                         "licenseListVersion": "3.25"},
        "packages": packages,
        "relationships": [
            {"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b} for a, kind, b in relations],
    }
    print(json.dumps(document, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
