"""The languages of the syntax highlighter: names, file names and token patterns.

Every pattern is linear on any text: it consumes what it has read, fails after a bounded number of characters,
or is tried once per line. So an unclosed comment or string extends to the end of the line or text. A pattern
that searches ahead for something that may be missing would make it all quadratic.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

Kind = Literal["c", "s", "m", "nf", "k", "gi", "gd", "gh", "word", "tag"]
Rule = tuple[Kind, str]


@dataclass(frozen=True)
class Language:
    """A language's tokens. `names` are those of fences, `files` are file extensions and whole file names."""

    names: str
    files: str
    rules: tuple[Rule, ...]
    keywords: str = ""
    ignores_case: bool = False
    is_markup: bool = False

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        parts = (f"(?P<{kind}_{number}>{rule})" for number, (kind, rule) in enumerate(self.rules))
        return re.compile("|".join(parts), re.MULTILINE | (re.IGNORECASE if self.ignores_case else 0))

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(self.keywords.split())


def _to_line_end(*openers: str) -> Rule:
    return "c", f"(?:{'|'.join(map(re.escape, openers))})[^\\n]*+"


def _block(opener: str, closer: str) -> Rule:
    return "c", rf"{re.escape(opener)}[\s\S]*?(?:{re.escape(closer)}|\Z)"


def _in_line(quote: str) -> Rule:
    return "s", rf"{quote}(?:\\[^\n]|[^{quote}\\\n])*+{quote}?"


def _across_lines(quote: str) -> Rule:
    return "s", rf"{quote}(?:\\[\s\S]|[^{quote}\\])*+(?:{quote}|\Z|\\\Z)"


def _until(quote: str) -> Rule:
    """A string between quotes of several characters, whose only escapes are `\\x`."""
    return "s", rf"{re.escape(quote)}(?:\\[\s\S]|[\s\S])*?(?:{re.escape(quote)}|\Z)"


_WORD: Rule = ("word", r"[^\W\d][\w]*+")
_NUMBER: Rule = ("m", r"\b\d[\w.]*+")
_DOUBLE, _SINGLE, _BACKTICK = _in_line('"'), _in_line("'"), _across_lines("`")
_CHARACTER: Rule = ("s", r"'(?:\\[^\n']{1,10}|\\'|[^'\\\n])'")
_DECORATOR: Rule = ("nf", r"@[^\W\d][\w.]*+")
_DIRECTIVE: Rule = ("k", r"^[ \t]*+#[ \t]{0,20}\w++")
_VARIABLE: Rule = ("nf", r"\$(?:\w++|\{[^{}\n]{0,200}\}?|[#?!@*$-])")
_REST = (_NUMBER, _WORD)
_C = (_to_line_end("//"), _block("/*", "*/"))
_C_STRINGS = (_DOUBLE, _SINGLE)
_TRIPLE = (_until('"""'), _until("'''"))
_HASH = _to_line_end("#")
_SHELL_COMMENT: Rule = ("c", r"(?<![^\s;(])#[^\n]*+")
_KEY_EQUALS: Rule = ("nf", r"^[ \t]*+[\w.\"'-]++(?=[ \t]{0,40}=)")
_SECTION: Rule = ("k", r"^\[[^\n]*+")
_ENDS: Rule = ("nf", r"^[^\s:#=][^:#=\n]*+:(?!=)")
_TAG: Rule = ("tag", r"</?[A-Za-z][\w:.-]*+(?:\"[^\"]*+\"?|'[^']*+'?|[^<>\"'])*+>?")
_DECLARATION: Rule = ("c", r"<[!?][^<>]*+>?")
_ENTITY: Rule = ("m", r"&#?\w{1,30};")
_MARKUP = (_block("<!--", "-->"), _DECLARATION, _TAG, _ENTITY)

_JS = """async await break case catch class const continue debugger default delete do else export extends
false finally for from function get if import in instanceof let new null of return set static super
switch this throw true try typeof undefined var void while with yield"""
_TS = f"""{_JS} abstract any as asserts bigint boolean declare enum implements infer interface is keyof module
namespace never number object override private protected public readonly satisfies string symbol
type unknown unique"""
_C_WORDS = """auto break case char const continue default do double else enum extern float for goto if inline
int long register restrict return short signed sizeof static struct switch typedef union unsigned void
volatile while bool true false NULL nullptr size_t int8_t int16_t int32_t int64_t uint8_t uint16_t
uint32_t uint64_t"""
_CSS_RULES: tuple[Rule, ...] = (
    _block("/*", "*/"),
    _DOUBLE,
    _SINGLE,
    ("k", r"@[\w-]++|![ \t]{0,20}\w++"),
    ("m", r"#[0-9A-Fa-f]{3,8}\b|-?\b\d[\w.]*+%?"),
    ("nf", r"[.#]?-{0,2}[A-Za-z_][\w-]*+(?=[ \t]{0,20}[:({,>])|[.#]-{0,2}[A-Za-z_][\w-]*+|\$[\w-]++"),
    ("word", r"[A-Za-z_-][\w-]*+"),
)
_JS_RULES = (*_C, *_C_STRINGS, _BACKTICK, _DECORATOR, *_REST)
_JVM = (*_C, _until('"""'), *_C_STRINGS, _DECORATOR, *_REST)
_SQL = """add all alter and any as asc autoincrement begin between bigint blob boolean by cascade case cast
char check column commit constraint create cross current_date current_timestamp database date
decimal default delete desc distinct drop else end except exists explain false float foreign from
full function grant group having if ilike in index inner insert int integer intersect into is join
json jsonb key left like limit materialized not null numeric offset on or order outer over partition
primary real recursive references rename replace returning revoke right rollback row rows schema
select serial set smallint table temporary text then time timestamp to transaction trigger true
truncate union unique update using uuid values varchar view when where window with"""

LANGUAGES = (
    Language(
        "python py python3 py3 pyi sage",
        ".py .pyi .pyw SConstruct SConscript",
        (_HASH, *_TRIPLE, *_C_STRINGS, _DECORATOR, *_REST),
        """False None True and as assert async await break case class continue def del elif else except
        finally for from global if import in is lambda match nonlocal not or pass raise return self
        cls try type while with yield""",
    ),
    Language("javascript js jsx mjs cjs node", ".js .jsx .mjs .cjs", _JS_RULES, _JS),
    Language("typescript ts tsx mts cts", ".ts .tsx .mts .cts", _JS_RULES, _TS),
    Language(
        "json jsonc json5 jsonl geojson",
        ".json .jsonc .json5 .jsonl .webmanifest .ipynb .eslintrc .prettierrc",
        (*_C, ("nf", r'"(?:\\[^\n]|[^"\\\n])*+"(?=[ \t]{0,20}:)'), _DOUBLE, *_REST),
        "true false null",
    ),
    Language(
        "yaml yml",
        ".yaml .yml .clang-format",
        (
            _SHELL_COMMENT,
            ("nf", r"^[ \t-]*+[\w\"'./$<*][^:#\n]*+(?=:(?:\s|\Z))"),
            *_C_STRINGS,
            ("k", r"^(?:---|\.\.\.)$|(?<=\s)[&*!][\w/!-]++"),
            *_REST,
        ),
        "true false null yes no on off True False Yes No",
    ),
    Language(
        "toml",
        ".toml .lock Pipfile",
        (_HASH, *_TRIPLE, *_C_STRINGS, _SECTION, _KEY_EQUALS, *_REST),
        "true false inf nan",
    ),
    Language(
        "ini cfg conf config properties dotenv env editorconfig",
        ".ini .cfg .conf .properties .env .env .editorconfig .gitconfig .service",
        (("c", r"^[ \t]*+[#;][^\n]*+"), _SECTION, _KEY_EQUALS, _DOUBLE, *_REST),
        "true false yes no on off",
    ),
    Language(
        "bash sh shell zsh ksh fish",
        ".sh .bash .zsh .ksh .fish .bashrc .zshrc .profile .bash_profile PKGBUILD",
        (
            ("s", r"\\[\s\S]"),
            _SHELL_COMMENT,
            _across_lines('"'),
            ("s", r"'[^']*+(?:'|\Z)"),
            _VARIABLE,
            ("word", r"[^\W\d][\w-]*+"),
            _NUMBER,
        ),
        """if then else elif fi for while until do done case esac in function select return break
        continue exit export local readonly declare unset shift trap source alias eval exec set echo
        printf read cd test true false end""",
    ),
    Language(
        "console terminal shell-session sh-session bash-session",
        "",
        (("gh", r"^(?:[\w.@:~/\[\] -]{0,80}[$%#>]|>>>|\.\.\.) [^\n]*+"),),
    ),
    Language(
        "sql postgresql postgres mysql sqlite sqlite3 plpgsql tsql",
        ".sql .ddl",
        (_to_line_end("--"), _block("/*", "*/"), ("s", r"'(?:''|[^'])*+(?:'|\Z)"), _DOUBLE, *_REST),
        _SQL,
        ignores_case=True,
    ),
    Language(
        "html htm xhtml vue svelte jinja jinja2 django",
        ".html .htm .xhtml .vue .svelte .j2 .jinja",
        _MARKUP,
        is_markup=True,
    ),
    Language(
        "xml svg xsl xslt rss plist",
        ".xml .svg .xsd .xsl .xslt .rss .plist .csproj",
        (_block("<![CDATA[", "]]>"), *_MARKUP),
    ),
    Language("css", ".css", _CSS_RULES),
    Language("scss sass less", ".scss .sass .less", (_to_line_end("//"), *_CSS_RULES)),
    Language("c h", ".c .h", (*_C, *_C_STRINGS, _DIRECTIVE, *_REST), _C_WORDS),
    Language(
        "cpp c++ cc cxx hpp cuda arduino",
        ".cpp .cc .cxx .hpp .hh .hxx .cu .ino",
        (*_C, *_C_STRINGS, _DIRECTIVE, *_REST),
        f"""{_C_WORDS} alignas alignof catch class concept consteval constexpr constinit co_await
        co_return co_yield decltype delete dynamic_cast explicit export final friend mutable namespace
        new noexcept operator override private protected public reinterpret_cast requires
        static_assert static_cast template this thread_local throw try typeid typename using virtual
        wchar_t""",
    ),
    Language(
        "objective-c objectivec objc obj-c",
        ".m .mm",
        (*_C, *_C_STRINGS, _DIRECTIVE, _DECORATOR, *_REST),
        f"{_C_WORDS} id self super nil YES NO BOOL instancetype import property nonatomic strong weak",
    ),
    Language(
        "csharp c# cs",
        ".cs .csx",
        (*_C, *_C_STRINGS, _DIRECTIVE, *_REST),
        """abstract as async await base bool break byte case catch char checked class const continue
        decimal default delegate do double else enum event explicit extern false finally fixed float
        for foreach get goto if implicit in init int interface internal is lock long nameof namespace
        new null object operator out override params private protected public readonly record ref
        required return sbyte sealed set short sizeof stackalloc static string struct switch this
        throw true try typeof uint ulong unchecked unsafe ushort using var virtual void volatile when
        where while with yield""",
    ),
    Language(
        "java",
        ".java",
        _JVM,
        """abstract assert boolean break byte case catch char class const continue default do double else
        enum exports extends false final finally float for goto if implements import instanceof int
        interface long module native new null package permits private protected public record return
        sealed short static strictfp super switch synchronized this throw throws transient true try
        var void volatile while yield""",
    ),
    Language(
        "kotlin kt kts",
        ".kt .kts",
        _JVM,
        """abstract actual annotation as break by catch class companion const constructor continue
        crossinline data do else enum expect external false final finally for fun get if import in
        infix init inline inner interface internal is lateinit null object open operator out override
        package private protected public reified return sealed set super suspend tailrec this throw
        true try typealias val var vararg when where while""",
    ),
    Language(
        "scala",
        ".scala .sbt .sc",
        _JVM,
        """abstract case catch class def do else enum extends false final finally for forSome given if
        implicit import lazy match new null object override package private protected return sealed
        super then this throw trait true try type using val var while with yield""",
    ),
    Language(
        "groovy gradle jenkinsfile",
        ".groovy .gradle Jenkinsfile",
        _JVM,
        """abstract as assert boolean break case catch class continue def default do double else enum
        extends false final finally float for if implements import in instanceof int interface long
        new null package private protected public return static super switch this throw throws trait
        true try void while""",
    ),
    Language(
        "go golang",
        ".go",
        (*_C, *_C_STRINGS, ("s", r"`[^`]*+(?:`|\Z)"), *_REST),
        """any bool break byte case chan complex128 const continue default defer else error fallthrough
        false float32 float64 for func go goto if import int int8 int16 int32 int64 interface iota map
        nil package range return rune select string struct switch true type uint uint8 uint16 uint32
        uint64 uintptr var""",
    ),
    Language(
        "rust rs",
        ".rs",
        (*_C, _across_lines('"'), _CHARACTER, ("nf", r"\w++!(?!=)|#!?\[[^\]\n]{0,200}\]?"), *_REST),
        """Self as async await bool box break char const continue crate dyn else enum extern f32 f64
        false fn for i8 i16 i32 i64 i128 if impl in isize let loop match mod move mut pub ref return
        self static str struct super trait true type u8 u16 u32 u64 u128 union unsafe use usize where
        while yield""",
    ),
    Language(
        "swift",
        ".swift",
        (*_C, _until('"""'), _DOUBLE, _DECORATOR, ("k", r"#[a-z]\w*+"), *_REST),
        """Any Self actor as associatedtype async await break case catch class continue convenience
        default defer deinit do dynamic else enum extension fallthrough false fileprivate final for
        func get guard if import in indirect infix init inout internal is lazy let mutating nil
        nonisolated open operator optional override private protocol public repeat required rethrows
        return self set some static struct subscript super switch throw throws true try typealias
        unowned var weak where while""",
    ),
    Language(
        "dart",
        ".dart",
        (*_C, *_TRIPLE, *_C_STRINGS, _DECORATOR, *_REST),
        """abstract as assert async await base bool break case catch class const continue covariant
        default deferred do double dynamic else enum export extends extension external factory false
        final finally for get hide if implements import in int interface is late library mixin new
        null on operator part required rethrow return sealed set show static super switch sync this
        throw true try typedef var void when while with yield""",
    ),
    Language(
        "php",
        ".php .phtml",
        (
            *_C,
            _HASH,
            _across_lines('"'),
            _across_lines("'"),
            _VARIABLE,
            ("k", r"<\?(?:php|=)?|\?>"),
            *_REST,
        ),
        """abstract and array as bool break callable case catch class clone const continue declare
        default do echo else elseif empty enum extends false final finally float fn for foreach
        function global if implements include include_once instanceof int interface isset list match
        mixed namespace new null or print private protected public readonly require require_once
        return self static string switch this throw trait true try unset use var void while xor yield""",
    ),
    Language(
        "ruby rb rake gemfile",
        ".rb .rake .gemspec Gemfile Rakefile Vagrantfile .ru",
        (
            ("c", r"^=begin\b[\s\S]*?(?:^=end\b|\Z)"),
            ("s", r"\\[\s\S]"),
            _SHELL_COMMENT,
            _across_lines('"'),
            _across_lines("'"),
            ("nf", r"@{1,2}\w++|\$\w++|(?<![\w:]):[^\W\d]\w*+[?!]?"),
            *_REST,
        ),
        """BEGIN END alias and attr_accessor attr_reader attr_writer begin break case class def defined
        do else elsif end ensure extend false for if in include loop module new next nil not or
        private protected public puts raise redo require require_relative rescue retry return self
        super then true undef unless until when while yield""",
    ),
    Language(
        "perl pl",
        ".pl .pm .t",
        (
            ("c", r"^=[a-z]\w*+[\s\S]*?(?:^=cut\b|\Z)"),
            ("s", r"\\[\s\S]"),
            _SHELL_COMMENT,
            _across_lines('"'),
            _across_lines("'"),
            ("nf", r"[$@%]\{?\w++\}?"),
            *_REST,
        ),
        """and cmp continue do else elsif eq for foreach ge gt if keys last le local lt my ne next no not
        or our package print push redo return say scalar shift sub undef unless until use values while
        x xor""",
    ),
    Language(
        "lua luau",
        ".lua .luau",
        (
            _block("--[[", "]]"),
            _to_line_end("--"),
            *_C_STRINGS,
            ("s", r"\[\[[\s\S]*?(?:\]\]|\Z)"),
            *_REST,
        ),
        """and break do else elseif end false for function goto if in local nil not or repeat return self
        then true until while""",
    ),
    Language(
        "r rscript",
        ".r .R .Rmd",
        (_HASH, _across_lines('"'), _across_lines("'"), ("word", r"[^\W\d][\w.]*+"), _NUMBER),
        """FALSE Inf NA NULL NaN TRUE break else for function if in library next repeat require return
        while""",
    ),
    Language(
        "julia jl",
        ".jl",
        (_block("#=", "=#"), _HASH, _until('"""'), _across_lines('"'), _CHARACTER, _DECORATOR, *_REST),
        """abstract baremodule begin break catch const continue do else elseif end export false finally
        for function global if import in isa let local macro missing module mutable nothing primitive
        quote return struct true try type using where while""",
    ),
    Language(
        "haskell hs",
        ".hs",
        (_block("{-", "-}"), _to_line_end("--"), _DOUBLE, _CHARACTER, ("word", r"[^\W\d][\w']*+"), _NUMBER),
        """as case class data default deriving do else family forall foreign hiding if import in infix
        infixl infixr instance let mdo module newtype of qualified rec then type where""",
    ),
    Language(
        "ocaml ml fsharp f# fs",
        ".ml .mli .fs .fsx .fsi",
        (
            _block("(*", "*)"),
            _to_line_end("//"),
            _across_lines('"'),
            _CHARACTER,
            ("word", r"[^\W\d][\w']*+"),
            _NUMBER,
        ),
        """and as assert begin class constraint do done downto else end exception external false for fun
        function functor if in include inherit initializer lazy let match member method module mutable
        namespace new null object of open override private rec return sig struct then to true try type
        use val virtual when while with yield""",
    ),
    Language(
        "elixir ex exs",
        ".ex .exs",
        (
            _HASH,
            *_TRIPLE,
            _across_lines('"'),
            _across_lines("'"),
            ("nf", r"@\w++|(?<![\w:]):[^\W\d]\w*+"),
            *_REST,
        ),
        """after alias and case catch cond def defdelegate defexception defguard defimpl defmacro
        defmodule defp defprotocol defstruct do else end false fn for if import in nil not or quote
        raise receive require rescue super throw true try unless unquote use when with""",
    ),
    Language(
        "erlang erl",
        ".erl .hrl",
        (_to_line_end("%"), _across_lines('"'), ("k", r"^-[a-z]\w*+"), *_REST),
        """after and andalso band begin bnot bor case catch div end fun if not of or orelse receive rem
        try when xor""",
    ),
    Language(
        "clojure clj lisp scheme elisp racket",
        ".clj .cljs .cljc .edn .lisp .el .scm .rkt",
        (
            _to_line_end(";"),
            _across_lines('"'),
            ("m", r"(?<![\w:]):[\w./-]++"),
            ("word", r"[^\W\d][\w*?!<>=/+-]*+"),
            _NUMBER,
        ),
        """and begin case cond cons def define defmacro defmethod defmulti defn defparameter defprotocol
        defrecord defun defvar do doseq false fn for if if-let import in-ns lambda let let* letrec
        loop nil not ns or quote recur require set! setq t true try unless use when when-let""",
    ),
    Language(
        "zig",
        ".zig",
        (_to_line_end("//"), _DOUBLE, _CHARACTER, _DECORATOR, *_REST),
        """align and anyerror anytype asm async await bool break catch comptime const continue defer else
        enum errdefer error export extern false fn for if inline noalias null or orelse packed pub
        resume return struct suspend switch test threadlocal true try type undefined union unreachable
        usize var void while""",
    ),
    Language(
        "powershell ps1 pwsh ps",
        ".ps1 .psm1 .psd1",
        (_block("<#", "#>"), _HASH, _across_lines('"'), ("s", r"'[^']*+(?:'|\Z)"), _VARIABLE, *_REST),
        """begin break catch class continue data do dynamicparam else elseif end enum exit filter finally
        for foreach from function hidden if in param process return static switch throw trap try until
        using while""",
        ignores_case=True,
    ),
    Language(
        "batch bat cmd dosbatch",
        ".bat .cmd",
        (
            ("c", r"^[ \t]*+(?:@?rem\b|::)[^\n]*+"),
            _DOUBLE,
            ("nf", r"%[\w~*]{1,80}%?|^[ \t]*+:\w++"),
            *_REST,
        ),
        """call cd copy del do echo else endlocal equ exit exist for goto if in move not pause set
        setlocal shift start""",
        ignores_case=True,
    ),
    Language(
        "dockerfile docker containerfile",
        "Dockerfile Containerfile dockerfile",
        (("c", r"^[ \t]*+#[^\n]*+"), *_C_STRINGS, _VARIABLE, *_REST),
        """ADD ARG AS CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL MAINTAINER ONBUILD RUN SHELL
        STOPSIGNAL USER VOLUME WORKDIR""",
    ),
    Language(
        "makefile make mk",
        "Makefile makefile GNUmakefile .mk",
        (_HASH, ("nf", r"\$[({][^)}\n]{0,200}[)}]?|\$\S"), _ENDS, *_C_STRINGS, *_REST),
        "define else endef endif export ifdef ifeq ifndef ifneq include override unexport vpath",
    ),
    Language(
        "cmake",
        ".cmake CMakeLists.txt",
        (_HASH, _across_lines('"'), _VARIABLE, *_REST),
        """add_executable add_library add_subdirectory cmake_minimum_required else elseif endforeach
        endfunction endif endmacro endwhile find_package foreach function if include install macro
        message option project return set target_include_directories target_link_libraries while""",
        ignores_case=True,
    ),
    Language(
        "nginx",
        ".nginx",
        (_HASH, *_C_STRINGS, _VARIABLE, ("k", r"^[ \t]*+[a-z_]++(?=[ \t;{])"), _NUMBER),
    ),
    Language(
        "hcl terraform tf",
        ".tf .tfvars .hcl",
        (*_C, _HASH, _DOUBLE, _KEY_EQUALS, *_REST),
        """data dynamic false for for_each if in locals module null output provider resource terraform
        true variable""",
    ),
    Language(
        "protobuf proto",
        ".proto",
        (*_C, *_C_STRINGS, *_REST),
        """bool bytes double enum extend extensions false fixed32 fixed64 float import int32 int64 map
        message oneof option optional package public repeated required reserved returns rpc service
        sint32 sint64 stream string syntax true uint32 uint64""",
    ),
    Language(
        "graphql gql",
        ".graphql .gql",
        (_HASH, _until('"""'), _DOUBLE, ("nf", r"[@$]\w++"), *_REST),
        """directive enum extend false fragment implements input interface mutation null on query
        repeatable scalar schema subscription true type union""",
    ),
    Language(
        "solidity sol",
        ".sol",
        (*_C, *_C_STRINGS, *_REST),
        """abstract address as assembly bool break bytes bytes32 calldata case catch constant constructor
        continue contract default delete do else emit enum error event external fallback false for
        function if immutable import indexed int interface internal is let library mapping memory
        modifier new override payable pragma private public pure receive return returns revert storage
        string struct switch this throw true try type uint uint256 unchecked using view virtual while""",
    ),
    Language(
        "latex tex",
        ".tex .sty .cls .bib",
        (("k", r"\\(?:[A-Za-z@]++\*?|[^\n])"), ("c", r"%[^\n]*+"), ("s", r"\$[^$\n]*+\$?"), _NUMBER),
    ),
    Language(
        "vim viml",
        ".vim .vimrc",
        (("c", r"^[ \t]*+\"[^\n]*+"), *_C_STRINGS, *_REST),
        """au augroup autocmd call catch command echo else elseif endfor endfunction endif endtry
        endwhile execute filetype finally for function if in inoremap let map nmap nnoremap noremap
        return set syntax try vnoremap while""",
    ),
    Language(
        "nix",
        ".nix",
        (_HASH, _block("/*", "*/"), _across_lines('"'), _until("''"), *_REST),
        "assert builtins else false if import in inherit let null or rec then true with",
    ),
    Language(
        "asm assembly nasm x86asm gas",
        ".s .S .asm .nasm",
        (
            ("c", r"[;#][^\n]*+"),
            *_C_STRINGS,
            ("nf", r"^[ \t]*+[\w.$]++:|%\w++"),
            ("k", r"^[ \t]++[.\w]++"),
            *_REST,
        ),
    ),
    Language(
        "http",
        ".http",
        (
            ("k", r"^(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS|HTTP/[\d.]{1,4})(?= )"),
            ("nf", r"^[\w-]++(?=:)"),
            _DOUBLE,
            _NUMBER,
        ),
    ),
    Language(
        "diff patch udiff",
        ".diff .patch",
        (
            ("gh", r"^(?:diff|index|---|\+\+\+|@@)(?![^\s])[^\n]*+"),
            ("gi", r"^\+[^\n]*+"),
            ("gd", r"^-[^\n]*+"),
        ),
    ),
    Language(
        "markdown md mdx",
        ".md .markdown .mdx",
        (
            ("s", r"^[ \t]{0,3}(?:```|~~~)[^\n]*+"),
            ("gh", r"^#{1,6} [^\n]*+"),
            ("c", r"^[ \t]{0,3}>[^\n]*+"),
            ("k", r"^[ \t]*+(?:[-*+]|\d{1,9}[.)])(?= )"),
            ("s", r"`[^`\n]*+`?"),
            ("nf", r"\[[^\[\]\n]*+\]?"),
        ),
    ),
)


def _by(groups: Iterable[tuple[str, Language]]) -> dict[str, Language]:
    return {name: language for names, language in groups for name in names.split()}


_BY_NAME = _by((language.names, language) for language in LANGUAGES)
_BY_FILE = _by((language.files, language) for language in LANGUAGES)
EMBEDDED = {"script": _BY_NAME["javascript"], "style": _BY_NAME["css"]}


def language_called(name: str) -> Language | None:
    return _BY_NAME.get(name.strip().lower())


def language_of_file(name: str) -> Language | None:
    _stem, dot, extension = name.rpartition(".")
    names = [name, f".{extension}", f".{extension.lower()}"] if dot else [name]
    return next((_BY_FILE[each] for each in names if each in _BY_FILE), None)
