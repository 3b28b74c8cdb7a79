"""What mkdocs does beside mkdocs.yml: it takes the pages that are not in docs, and makes their links lead to the site, or else to the
repository."""

import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
REPOSITORY = "https://github.com/replayd/replayd"

# Pages beside docs, by their names in the site.
ELSEWHERE = {
    "start.md": "README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
    "security.md": "SECURITY.md",
    "clients/README.md": "clients/README.md",
    "clients/python.md": "clients/python/README.md",
    "clients/typescript.md": "clients/typescript/README.md",
    "clients/go.md": "clients/go/README.md",
    "clients/browser.md": "clients/browser/README.md",
    "clients/java.md": "examples/java/README.md",
}

LINK = re.compile(r"(\]\()([^)\s]+)(\))")
FENCED = re.compile(r"(^```.*?^```[^\n]*$)", re.DOTALL | re.MULTILINE)


def on_files(files: Files, config) -> Files:
    for name, path in ELSEWHERE.items():
        files.append(File.generated(config, name, content=(ROOT / path).read_text()))
    return files


def on_page_markdown(markdown: str, page, config, files: Files) -> str:
    name = page.file.src_uri
    parts = FENCED.split(markdown)
    return "".join(part if part.startswith("```") else LINK.sub(lambda m: m[1] + led(m[2], name, files) + m[3], part) for part in parts)


def led(link: str, name: str, files: Files) -> str:
    """Where a link of a page leads in the site."""
    own = re.compile(re.escape(REPOSITORY) + r"/(?:blob|tree)/main/([^#]*)(#.*)?").fullmatch(link)
    if own is None and ("://" in link or link.startswith(("mailto:", "#"))):
        return link
    if own:
        to, anchor = own[1], own[2] or ""
    else:
        to, _, anchor = link.partition("#")
        anchor = anchor and "#" + anchor
        to = posixpath.normpath(posixpath.join(posixpath.dirname(ELSEWHERE.get(name, "docs/" + name)), to))
    of_site = {path: site for site, path in ELSEWHERE.items()}
    for path in (to, to.rstrip("/") + "/README.md"):
        site = of_site.get(path) or path.removeprefix("docs/") * path.startswith("docs/")
        if site and files.get_file_from_path(site) is not None:
            return posixpath.relpath(site, posixpath.dirname(name) or ".") + anchor
    kind = "tree" if (ROOT / to).is_dir() else "blob"
    if not (ROOT / to).exists():
        raise ValueError(f"{name} links to {link}, which is not there")
    return f"{REPOSITORY}/{kind}/main/{to}{anchor}"
