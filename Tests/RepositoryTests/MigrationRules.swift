/// A released migration is never edited: databases that ran it exist.
enum MigrationRules {
    static let folder = "Sources/Persistence/Migrations/"
    static let fixture = "Tests/RepositoryTests/Fixtures/migrations.sha256"

    /// What is wrong with the migrations, given the lines that were written down for them.
    static func violations(migrations: [SourceFile], fixture: String) -> [String] {
        let actual = Dictionary(uniqueKeysWithValues: migrations.map { ($0.path, self.checksum(of: $0)) })
        let recorded = self.entries(of: fixture)
        var found: [String] = []
        for (path, checksum) in actual.sorted(by: { $0.key < $1.key }) {
            switch recorded[path] {
            case nil: found.append("\(path) is new; add this line to \(self.fixture): \(checksum)  \(path)")
            case checksum: continue
            case .some: found.append("\(path) was edited (now \(checksum)); released migrations stay, add another")
            }
        }
        for path in recorded.keys.sorted() where actual[path] == nil {
            found.append("\(path) is gone; released migrations stay")
        }
        return found
    }

    static func entries(of fixture: String) -> [String: String] {
        var entries: [String: String] = [:]
        for line in fixture.split(separator: "\n") where !line.hasPrefix("#") {
            let words = line.split(separator: " ")
            if words.count == 2 { entries[String(words[1])] = String(words[0]) }
        }
        return entries
    }

    static func checksum(of file: SourceFile) -> String {
        SHA256.hexDigest(of: Array(file.text.utf8))
    }
}
