import Testing

/// The table of limits in docs/LIMITS.md, beside the numbers in the sources.
struct DocumentedLimitsTests {
    /// Each row of the table, and the constants whose values it states.
    private static let rows: [String: [String]] = [
        "a change, in `ChangeSize` bytes": ["editByteCountMax", "loadedByteCountMax"],
        "operations of a change": ["changeOperationCountMax"],
        "points in a context difference": ["contextEntryCountMax"],
        "a run": ["runChangeCountMax"],
        "a value, an unknown operation's body": ["valueByteCountMax", "opaqueByteCountMax"],
        "a name, a type, a kind": ["nameByteCountMax"],
        "a position": ["positionByteCountKept", "positionByteCountMax"],
        "a run on the wire": ["compressionRatioMax"],
    ]

    private static let sources = [
        "Sources/CRDTCore/Limits.swift", "Sources/SyncProtocol/Messages/MessageKind.swift",
    ]

    /// The constants of a source that are numbers: `name = 512`, or `name = 6 << 20`.
    private static func constants(in text: String) -> [String: Int] {
        let declarations = text.matches(of: /static let (\w+)(?:: \w+)? = ([\d_]+)(?: << (\d+))?\n/)
        return declarations.reduce(into: [:]) { found, match in
            let (_, name, digits, shift) = match.output
            let number = Int(digits.filter { $0 != "_" }) ?? 0
            found[String(name)] = number << (shift.flatMap { Int($0) } ?? 0)
        }
    }

    /// A number as the document writes it.
    private static func text(of value: Int, _ name: String) -> String {
        if name.contains("ByteCount") { return value % (1 << 20) == 0 ? "\(value >> 20) MiB" : "\(value) bytes" }
        if name.contains("Ratio") { return "\(value) times" }
        return value < 1_000 ? "\(value)" : "\(value / 1_000),\(String(value % 1_000 + 1_000).dropFirst())"
    }

    /// The rows of the table by their first cell, and the quantities in the others.
    private static func quantities(in document: String) throws -> [String: Set<String>] {
        let section = try #require(document.split(separator: "\n## Sizes").dropFirst().first)
        let lines = section.prefix(upTo: section.firstRange(of: "\n## ")?.lowerBound ?? section.endIndex)
            .split(separator: "\n").filter { $0.hasPrefix("|") }.dropFirst(2)
        return lines.reduce(into: [:]) { found, line in
            let cells = line.split(separator: "|", maxSplits: 1)
            let words = cells[1].matches(of: /\d[\d,]*(?: (?:MiB|bytes|times))?/).map { String($0.output) }
            found[cells[0].split(separator: " ").joined(separator: " ")] = Set(words)
        }
    }

    @Test func `the table states the limits of the sources, and no others`() throws {
        var values: [String: Int] = [:]
        for path in Self.sources { values.merge(Self.constants(in: try Repository.text(path))) { first, _ in first } }
        let found = try Self.quantities(in: try Repository.text("docs/LIMITS.md"))
        #expect(Set(found.keys) == Set(Self.rows.keys))
        for (row, names) in Self.rows {
            let expected = try names.map { Self.text(of: try #require(values[$0], "no \($0)"), $0) }
            #expect(found[row] == Set(expected), "\(row)")
        }
    }

    @Test func `what a document states, and a source, is read as it is written`() throws {
        let source = "    static let aByteCountMax = 6 << 20\n    package static let bCountMax: UInt64 = 65_536\n"
        #expect(Self.constants(in: source) == ["aByteCountMax": 6 << 20, "bCountMax": 65_536])
        #expect(Self.text(of: 65_536, "bCountMax") == "65,536")
        #expect(Self.text(of: 4_000, "bCountMax") == "4,000")
        #expect(Self.text(of: 64 << 20, "aByteCountMax") == "64 MiB")
        let table = "| of | most |\n|---|---|\n| a b | 6 MiB, then 96 bytes |\n"
        let document = "## Other\n\n## Sizes (`L`)\n\n\(table)\n## Next\n\n| c | 1 |\n"
        #expect(try Self.quantities(in: document) == ["a b": ["6 MiB", "96 bytes"]])
    }
}
