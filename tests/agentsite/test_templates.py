"""Tags of templates may run over lines; what is sent does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.template.loader import get_template

from agentsite.templates import join_tags


@pytest.mark.parametrize(
    ("source", "sent"),
    [
        ('<p class="a"\n    id="b"\n    >One\n  two</p>', '<p class="a" id="b">One\n  two</p>'),
        ("<p\n    {% if x < 1 %}hidden{% endif %}>\n</p>", "<p {% if x < 1 %}hidden{% endif %}>\n</p>"),
        (
            '<a title="{% translate "a > b" %}"\n  href="#">c</a>',
            '<a title="{% translate "a > b" %}" href="#">c</a>',
        ),
        ('<pre\n  class="a">\n  1 < 2\n</pre>', '<pre class="a">\n  1 < 2\n</pre>'),
        ("{% if a < b %}\n  c > d\n{% endif %}", "{% if a < b %}\n  c > d\n{% endif %}"),
    ],
)
def test_a_tag_is_sent_on_one_line(source: str, sent: str) -> None:
    assert join_tags(source) == sent


def test_the_projects_templates_are_loaded_so() -> None:
    template = get_template("partials/_composer.html").template
    assert 'rows="1" data-most-bytes="65536" data-commands' in template.source
    assert template.source != Path(template.origin.name).read_text()
