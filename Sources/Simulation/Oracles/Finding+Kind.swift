/// How findings of two runs are compared.
extension Finding: CustomStringConvertible {
    package var description: String { "\(self.property.rawValue): \(self.message)" }

    /// What the same failure of another run has in common with this: the property, and the words of the message that
    /// are neither names nor numbers nor what was written.
    package var kind: Kind {
        var words: [String] = []
        for (number, line) in self.message.split(separator: "\n").prefix(2).enumerated() {
            var text = line
            for end in Finding.ends { if let range = text.firstRange(of: end) { text = text[..<range.upperBound] } }
            for word in text.split(whereSeparator: { !($0.isLetter || $0.isNumber || $0 == "_") }) {
                let isName = word.allSatisfy { $0.isHexDigit } || word.contains { $0.isNumber }
                // A second line is the first difference of two states: only what is told of an object matters.
                if number > 0, !Finding.aspects.contains(word) { continue }
                if !isName, !words.contains(String(word)) { words.append(String(word)) }
            }
        }
        return Kind(property: self.property, words: words)
    }

    /// What follows these is what was written, and who held it.
    private static let ends = ["different states: ", "another state: ", "gone from the core: ", "registers hold "]
    /// What states tell of objects.
    private static let aspects: Set<Substring> = [
        "visible", "created", "conflict", "children", "roots", "effect", "open", "applied",
    ]

    package struct Kind: Hashable, Sendable {
        package var property: CheckedProperty
        /// Each word once, in the order of the message.
        package var words: [String]
    }
}
