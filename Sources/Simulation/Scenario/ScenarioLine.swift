/// One line of a scenario as words, read from left to right.
package struct ScenarioLine {
    package let number: Int
    private var words: [Word] = []
    private var position = 0

    private struct Word {
        var text: String
        var isQuoted: Bool
    }

    init(_ line: Substring, number: Int) throws(ScenarioError) {
        self.number = number
        var rest = line
        while let first = rest.first {
            if first == "#" { break }
            if first.isWhitespace {
                rest.removeFirst()
            } else if first == "\"" {
                rest.removeFirst()
                guard let end = rest.firstIndex(of: "\"") else {
                    throw ScenarioError(line: number, message: "a text has no end")
                }
                self.words.append(Word(text: String(rest[..<end]), isQuoted: true))
                rest = rest[rest.index(after: end)...]
            } else if "|>;".contains(first) {
                self.words.append(Word(text: String(first), isQuoted: false))
                rest.removeFirst()
            } else {
                let word = rest.prefix { !$0.isWhitespace && !"|>;\"#".contains($0) }
                self.words.append(Word(text: String(word), isQuoted: false))
                rest = rest[word.endIndex...]
            }
        }
    }

    var isAtEnd: Bool { self.position == self.words.count }
    /// The next word, if it is not a text in quotes.
    var peek: String? {
        guard !self.isAtEnd, !self.words[self.position].isQuoted else { return nil }
        return self.words[self.position].text
    }

    package func failure(_ message: String) -> ScenarioError { ScenarioError(line: self.number, message: message) }

    package mutating func word(_ what: String) throws(ScenarioError) -> String {
        guard let word = self.peek else { throw self.failure("\(what) is missing") }
        self.position += 1
        return word
    }

    /// A word with a meaning; `what` for what is missing, `fault` for what any other word is.
    mutating func word<Value>(
        _ what: String,
        else fault: String,
        _ meaning: (String) -> Value?
    ) throws(ScenarioError) -> Value {
        let word = try self.word(what)
        guard let value = meaning(word) else { throw self.failure("“\(word)” is \(fault)") }
        return value
    }

    package mutating func text() throws(ScenarioError) -> String {
        guard !self.isAtEnd, self.words[self.position].isQuoted else {
            throw self.failure("a text in quotes is missing")
        }
        self.position += 1
        return self.words[self.position - 1].text
    }

    /// Takes the next words if they are these.
    package mutating func take(_ words: String...) -> Bool {
        guard self.position + words.count <= self.words.count else { return false }
        for (offset, word) in words.enumerated() {
            let next = self.words[self.position + offset]
            guard next.text == word, !next.isQuoted else { return false }
        }
        self.position += words.count
        return true
    }

    mutating func expect(_ word: String) throws(ScenarioError) {
        guard self.take(word) else { throw self.failure("“\(word)” is missing") }
    }

    package mutating func number(_ what: String) throws(ScenarioError) -> Int {
        let word = try self.word(what)
        guard let number = Int(word), number >= 0 else { throw self.failure("\(what) is not a number: “\(word)”") }
        return number
    }

    /// A length of time: a number and `us`, `ms`, `s`, `m`, `h`, `d` or `y`.
    package mutating func duration() throws(ScenarioError) -> VirtualTime {
        try self.word("a length of time", else: "not a length of time") { VirtualTime(word: $0[...]) }
    }

    /// A length of time with a sign, in milliseconds; `what` and `fault` as of any word.
    mutating func signedMilliseconds(_ what: String, else fault: String) throws(ScenarioError) -> Int64 {
        try self.word(what, else: fault) { word in
            guard let sign = word.first, "+-".contains(sign) else { return nil }
            return VirtualTime(word: word.dropFirst()).map { Int64($0.milliseconds) * (sign == "-" ? -1 : 1) }
        }
    }

    package func end() throws(ScenarioError) {
        if !self.isAtEnd { throw self.failure("“\(self.words[self.position].text)” is too much") }
    }
}
