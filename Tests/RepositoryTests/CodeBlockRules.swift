/// The code in documents and comments: each block of Swift is part of an example, which is compiled and run.
enum CodeBlockRules {
    /// A block of Swift between fences, without its indentation.
    struct Block: Equatable {
        /// The number of its first line in the file, from 1.
        let number: Int
        let lines: [String]
    }

    /// The blocks of a file, and a report for each fence of the library's documentation that names no language.
    static func blocks(in file: SourceFile) -> (blocks: [Block], violations: [String]) {
        let isDocumentation = file.path.hasSuffix(".swift") || file.path.contains(".docc/")
        var blocks: [Block] = []
        var violations: [String] = []
        var open: (language: String, number: Int, lines: [String])?
        for (index, line) in self.lines(of: file).enumerated() {
            guard line.hasPrefix("```") else {
                open?.lines.append(line)
                continue
            }
            if let closed = open {
                if closed.language == "swift" { blocks.append(Block(number: closed.number, lines: closed.lines)) }
                open = nil
            } else {
                open = (String(line.dropFirst(3)), index + 2, [])
                guard line == "```", isDocumentation else { continue }
                violations.append("\(file.path):\(index + 1): a block without a language")
            }
        }
        return (blocks, violations)
    }

    /// The blocks of documents that no example contains, and fences that should name a language.
    static func violations(in documents: [SourceFile], examples: [SourceFile]) -> [String] {
        let sources = examples.map { self.lines(ofText: $0.text) }
        return documents.flatMap { document in
            let (blocks, violations) = self.blocks(in: document)
            let missing = blocks.filter { block in !sources.contains { self.lines($0, contain: block.lines) } }
            return violations + missing.map { "\(document.path):\($0.number): no example contains this block" }
        }
    }

    private static func lines(_ lines: [String], contain block: [String]) -> Bool {
        guard let first = block.first else { return false }
        return lines.indices.contains { lines[$0] == first && lines[$0...].starts(with: block) }
    }

    /// The lines without indentation; of a Swift file only its documentation, and empty lines for all else.
    private static func lines(of file: SourceFile) -> [String] {
        let lines = self.lines(ofText: file.text)
        guard file.path.hasSuffix(".swift") else { return lines }
        return lines.map { $0.hasPrefix("///") ? self.trimmed($0.dropFirst(3)) : "" }
    }

    private static func lines(ofText text: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { self.trimmed($0) }
    }

    private static func trimmed(_ line: Substring) -> String {
        var rest = line.drop { $0 == " " }
        while rest.last == " " { rest.removeLast() }
        return String(rest)
    }
}
