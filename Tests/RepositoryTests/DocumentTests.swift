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

    /// The first bytes on a connection name the protocol's version, so a new pair of them is news to users.
    @Test func `the changelog names the prologues the sources use`() throws {
        let changelog = try Repository.text("CHANGELOG.md")
        for file in try Repository.swiftFiles() where file.module == "SyncProtocol" {
            for match in file.text.matches(of: /peerd\/\d+[pk]/) {
                #expect(changelog.contains(match.output), "\(file.path) uses \(match.output)")
            }
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
