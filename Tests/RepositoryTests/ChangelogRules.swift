/// The form of CHANGELOG.md: versions newest first, each with the same sections in the same order.
enum ChangelogRules {
    static let sections = ["Features", "Formats", "Internals"]

    /// The formats whose numbers the newest entry must give, since bytes on disk and wire depend on them.
    static let formats = ["change format", "wire protocol", "database schema"]

    static func violations(in changelog: String) -> [String] {
        var found: [String] = []
        if !changelog.hasPrefix("# Changelog\n") { found.append("it does not begin with \"# Changelog\"") }
        let entries = self.entries(of: changelog)
        if entries.isEmpty { found.append("it has no version") }
        for entry in entries { found += self.violations(in: entry) }
        let versions = entries.compactMap { self.version(of: $0.title) }
        for (newer, older) in zip(versions, versions.dropFirst()) where !older.lexicographicallyPrecedes(newer) {
            found.append("\(newer) stands above \(older), but is not newer")
        }
        if let newest = entries.first {
            let words = newest.lines.flatMap { $0.split(separator: " ") }.joined(separator: " ")
            let named = words.matches(of: /([a-z]+ [a-z]+) \d+/).map { String($0.1) }
            for format in self.formats where !named.contains(format) {
                found.append("the newest version does not say which \(format) it has, as in \"\(format) 1\"")
            }
        }
        return found
    }

    private static func violations(in entry: Entry) -> [String] {
        var found: [String] = []
        if self.version(of: entry.title) == nil {
            found.append("\"\(entry.title)\" is not \"X.Y.Z, YYYY-MM-DD\" or \"X.Y.Z, unreleased\"")
        }
        let titles = entry.lines.filter { $0.hasPrefix("### ") }.map { String($0.dropFirst(4)) }
        if titles.isEmpty || titles != self.sections.filter(titles.contains) {
            found.append("\(entry.title): its sections are \(titles), not some of \(self.sections) in this order")
        }
        let bodies = entry.lines.split(omittingEmptySubsequences: false) { $0.hasPrefix("### ") }.dropFirst()
        if bodies.contains(where: { body in !body.contains { $0.hasPrefix("- ") } }) {
            found.append("\(entry.title): a section says nothing")
        }
        return found
    }

    private struct Entry {
        let title: String
        var lines: [String]
    }

    private static func entries(of changelog: String) -> [Entry] {
        var entries: [Entry] = []
        for line in changelog.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("## ") {
                entries.append(Entry(title: String(line.dropFirst(3)), lines: []))
            } else if !entries.isEmpty {
                entries[entries.count - 1].lines.append(String(line))
            }
        }
        return entries
    }

    private static func version(of title: String) -> [Int]? {
        let form = /(\d+)\.(\d+)\.(\d+), (?:unreleased|\d{4}-\d\d-\d\d)/
        guard let match = title.wholeMatch(of: form) else { return nil }
        return [match.1, match.2, match.3].compactMap { Int($0) }
    }
}
