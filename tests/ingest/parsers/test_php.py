"""PHP: functions, methods under class, trait and interface, doc comments, namespaces."""

from __future__ import annotations

from tests.ingest.parsers.parsing import see

SOURCE = """
    <?php
    namespace App\\\\Models;

    use App\\\\Support\\\\{Str, Arr as A};
    use Vendor\\\\Client;

    /** Says hello. */
    function hello(string $name) { return strtoupper($name); }

    final class User extends Model implements Named, \\\\Countable
    {
        use HasName;

        /**
         * Full name.
         *
         * @return string
         */
        public static function fullName(Client $client): string
        {
            return $this->first()->trim() . Str::upper(self::last()) . new Client();
        }

        abstract function nothing();
    }
    trait HasName { private function name() { return parent::name(); } }
    """.replace("\\\\", "\\")


def test_functions_and_methods_are_found_with_their_doc_comments() -> None:
    seen = see(".php", SOURCE)
    assert seen.names == ["hello", "User.fullName", "HasName.name"]
    assert seen.functions["hello"].docstring == "Says hello."
    assert seen.functions["User.fullName"].docstring == "Full name.\n\n@return string"
    assert seen.functions["User.fullName"].address.lines == (19, 22)


def test_references_and_imports_with_dots_between_their_parts() -> None:
    seen = see(".php", SOURCE)
    assert seen.targets("extends") == ["Model", "HasName"]
    assert seen.targets("implements") == ["Named", "Countable"]
    assert seen.targets("calls", "User.fullName") == [
        "$this.first().trim",
        "$this.first",
        "Str.upper",
        "self.last",
        "Client",
    ]
    assert ("User.nothing", "function") in seen.symbols
    assert seen.imports == [
        ("App.Support", "Str", "Str"),
        ("App.Support", "Arr", "A"),
        ("Vendor", "Client", "Client"),
    ]


def test_old_offsets_in_braces_do_not_lose_the_rest_of_a_file() -> None:
    seen = see(".php", "<?php\nfunction a($s, $i) { return $s{$i} . $s[1]{0}; }\nfunction b() { return 1; }\n")
    assert seen.names == ["a", "b"]
