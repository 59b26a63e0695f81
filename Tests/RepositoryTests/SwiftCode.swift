/// The code of a Swift source file, with comments and the text of literals blanked out.
///
/// Every character that is left out becomes a space and every line break stays, so that a place in the code is the
/// same place in the file. Code inside a string interpolation is code and is kept. Of identifiers in backticks only
/// those are kept that could be written without them: the name of a test is a sentence, not code.
///
/// Bare regular expression literals (`/…/`) are not recognised; extended ones (`#/…/#`) are.
struct SwiftCode {
    let text: String

    init(stripping source: String) {
        var stripper = Stripper(source: source)
        stripper.code(until: nil)
        self.text = String(stripper.output)
    }

    var lines: [Substring] {
        self.text.split(separator: "\n", omittingEmptySubsequences: false)
    }
}

private struct Stripper {
    private let source: [Character]
    private var position = 0
    private(set) var output: [Character] = []

    init(source: String) {
        self.source = Array(source)
        self.output.reserveCapacity(self.source.count)
    }

    /// Copies code up to the end, or up to a closing parenthesis that nothing before it opened.
    mutating func code(until end: Character?) {
        var depth = 0
        while let character = self.current {
            if character == end, depth == 0 {
                return
            }
            switch character {
            case "/" where self.starts(with: "//"):
                self.lineComment()
            case "/" where self.starts(with: "/*"):
                self.blockComment()
            case "\"":
                self.string(poundCount: 0)
            case "#":
                self.poundDelimited()
            case "`":
                self.quotedIdentifier()
            default:
                if character == "(" { depth += 1 }
                if character == ")" { depth -= 1 }
                self.keep(1)
            }
        }
    }

    private mutating func lineComment() {
        while let character = self.current, !character.isNewline {
            self.blank(1)
        }
    }

    private mutating func blockComment() {
        var depth = 0
        repeat {
            if self.starts(with: "/*") {
                depth += 1
                self.blank(2)
            } else if self.starts(with: "*/") {
                depth -= 1
                self.blank(2)
            } else {
                self.blank(1)
            }
        } while depth > 0 && self.current != nil
    }

    /// A raw string, an extended regular expression, or a directive such as `#if`.
    private mutating func poundDelimited() {
        var poundCount = 0
        while self.character(at: self.position + poundCount) == "#" {
            poundCount += 1
        }
        switch self.character(at: self.position + poundCount) {
        case "\"":
            self.keep(poundCount)
            self.string(poundCount: poundCount)
        case "/":
            self.keep(poundCount)
            self.extendedRegularExpression(poundCount: poundCount)
        default:
            self.keep(poundCount)
        }
    }

    private mutating func string(poundCount: Int) {
        let quote = self.starts(with: "\"\"\"") ? "\"\"\"" : "\""
        let pounds = String(repeating: "#", count: poundCount)
        self.keep(quote.count)
        while let character = self.current {
            if self.starts(with: quote + pounds) {
                self.keep(quote.count + poundCount)
                return
            }
            if quote.count == 1, character.isNewline {
                return  // Not closed on its line, so not Swift: go on as code rather than swallow the file.
            }
            if self.starts(with: "\\" + pounds) {
                self.blank(1 + poundCount)
                if self.current == "(" {
                    self.keep(1)
                    self.code(until: ")")
                    self.keep(1)
                } else {
                    self.blank(1)
                }
            } else {
                self.blank(1)
            }
        }
    }

    private mutating func extendedRegularExpression(poundCount: Int) {
        let end = "/" + String(repeating: "#", count: poundCount)
        self.keep(1)
        while self.current != nil {
            if self.starts(with: end) {
                self.keep(end.count)
                return
            }
            self.blank(self.current == "\\" ? 2 : 1)
        }
    }

    private mutating func quotedIdentifier() {
        var end = self.position + 1
        while let character = self.character(at: end), character != "`", !character.isNewline {
            end += 1
        }
        let name = self.source[(self.position + 1)..<min(end, self.source.count)]
        let isPlain = name.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
        let length = end + 1 - self.position
        if isPlain { self.keep(length) } else { self.blank(length) }
    }

    private var current: Character? {
        self.character(at: self.position)
    }

    private func character(at index: Int) -> Character? {
        index < self.source.count ? self.source[index] : nil
    }

    private func starts(with prefix: String) -> Bool {
        self.source[self.position...].starts(with: prefix)
    }

    private mutating func keep(_ count: Int) {
        self.take(count) { $0 }
    }

    private mutating func blank(_ count: Int) {
        self.take(count) { $0.isNewline ? $0 : " " }
    }

    private mutating func take(_ count: Int, as form: (Character) -> Character) {
        for _ in 0..<count where self.position < self.source.count {
            self.output.append(form(self.source[self.position]))
            self.position += 1
        }
    }
}
