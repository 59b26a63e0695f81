import Foundation
import Testing

/// What README.md, CHANGELOG.md and the scripts promise each other.
@Suite struct DocumentTests {
    @Test func `the changelog has its form`() throws {
        let violations = ChangelogRules.violations(in: try Repository.text("CHANGELOG.md"))
        #expect(violations.isEmpty, "\(violations.joined(separator: "\n"))")
    }

    private static let changelog = """
        # Changelog

        ## 0.2.0, unreleased

        ### Features

        - A verb.

        ### Formats

        - Formats: change format 1, wire protocol 1, database schema 2.

        ## 0.1.0, 2026-01-02

        ### Internals

        - First.

        """

    @Test func `a changelog in form is allowed`() {
        #expect(ChangelogRules.violations(in: Self.changelog) == [])
    }

    @Test(arguments: [
        ("# Changelog", "# Changes"),
        ("0.1.0", "0.3.0"),
        ("0.1.0", "0.2.0"),
        ("unreleased", "soon"),
        ("### Features", "### Fixes"),
        ("### Internals", "### Internals\n\n### Features\n\n- B."),
        ("- A verb.", "Nothing."),
        ("wire protocol 1, ", ""),
        ("database schema 2", "database"),
    ])
    func `a changelog out of form is found`(original: String, replacement: String) throws {
        let range = try #require(Self.changelog.range(of: original))
        let changed = Self.changelog.replacingCharacters(in: range, with: replacement)
        #expect(!ChangelogRules.violations(in: changed).isEmpty)
    }

    /// What the project says of itself.
    private static func documents() throws -> [SourceFile] {
        try Repository.files(withExtensions: ["md"]).filter { file in
            !file.path.contains("/") || file.path.hasPrefix("docs/") || file.path.hasPrefix("Sources/")
        }
    }

    /// The first bytes on a connection and of a beacon name the protocol's version, so new ones are news to users.
    @Test func `the changelog names the preambles that the sources use, and no document names others`() throws {
        let sources = try Repository.swiftFiles().filter { ["SyncProtocol", "Engine"].contains($0.module) }
        let used = Set(sources.flatMap { $0.text.matches(of: /"(peerd\/\w*\d\w*)"/).map { String($0.1) } })
        #expect(used.count >= 4, "\(used)")
        func named(in text: Substring) -> Set<String> {
            Set(text.matches(of: /`(peerd\/\w+)`/).map { String($0.1) })
        }
        for document in try Self.documents() {
            guard document.path == "CHANGELOG.md" else {
                #expect(named(in: document.text[...]).isSubset(of: used), "\(document.path)")
                continue
            }
            let newest = try #require(document.text.split(separator: "\n## ", maxSplits: 2).dropFirst().first)
            #expect(named(in: newest) == used)
        }
    }

    @Test func `each limit that a document names by its identifier is declared`() throws {
        let declarations = try Repository.swiftFiles().filter { $0.module != nil }.flatMap { file in
            file.text.matches(of: /\b(?:let|var)\s+(\w+(?:Max|Min))\b/.wordBoundaryKind(.simple)).map { String($0.1) }
        }
        let named = try Self.documents().flatMap { document in
            document.text.matches(of: /`(?:\w+\.)?([a-z]\w*(?:Max|Min))`/).map { String($0.1) }
        }
        #expect(named.contains("redactionByteCountMax"))
        #expect(Set(named).isSubset(of: declarations), "\(Set(named).subtracting(declarations))")
    }

    @Test func `each source that ARCHITECTURE names is there`() throws {
        let paths = try Repository.paths()
        let named = try Repository.text("ARCHITECTURE.md").matches(of: /`([\w\/+]+\.swift)`/).map { String($0.1) }
        #expect(named.count > 20)
        for name in named where !paths.contains(where: { "/\($0)".hasSuffix("/" + name) }) {
            Issue.record("ARCHITECTURE.md names \(name)")
        }
    }

    @Test(arguments: ["README.md", "CONTRIBUTING.md"])
    func `each make target a document names exists`(document: String) throws {
        let makefile = try Repository.text("Makefile")
        let targets = Set(makefile.matches(of: /(?:^|\n)([a-z-]+):/).map { String($0.1) })
        let named = try Repository.text(document).matches(of: /`make ([a-z-]+)/).map { String($0.1) }
        #expect(!named.isEmpty)
        #expect(targets.isSuperset(of: named), "\(Set(named).subtracting(targets))")
    }

    @Test func `each script the Makefile calls exists`() throws {
        let paths = Set(try Repository.paths())
        let called = try Repository.text("Makefile").matches(of: /(?:scripts|Tests\/System)\/[\w-]+\.(?:sh|py)/)
        #expect(called.count > 3)
        let missing = Set(called.map { String($0.output) }).subtracting(paths)
        #expect(missing.isEmpty)
    }
}
