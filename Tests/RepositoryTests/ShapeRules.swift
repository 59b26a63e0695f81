/// The outside of a file: how long it is, how wide, and what it calls its types.
enum ShapeRules {
    static let lineCountMax = 700
    static let lineWidthMax = 120

    static func violations(in file: SourceFile) -> [String] {
        self.sizeViolations(in: file) + self.nameViolations(in: file) + self.escapeHatchViolations(in: file)
    }

    static func sizeViolations(in file: SourceFile) -> [String] {
        let lines = file.text.split(separator: "\n", omittingEmptySubsequences: false)
        let lineCount = file.text.hasSuffix("\n") ? lines.count - 1 : lines.count
        var found: [String] = []
        if lineCount > self.lineCountMax {
            found.append("\(file.path): \(lineCount) lines; over \(self.lineCountMax), a file wants to be two")
        }
        for (index, line) in lines.enumerated() where line.count > self.lineWidthMax {
            found.append("\(file.path):\(index + 1): \(line.count) columns, over \(self.lineWidthMax)")
        }
        return found
    }

    /// An `extension` may name a type of someone else, so only declarations are looked at.
    static func nameViolations(in file: SourceFile) -> [String] {
        let declaration = Regex<AnyRegexOutput>(
            /\b(?:struct|class|enum|actor|protocol|typealias)\s+\w*(?:Manager|Helper|Util)\w*/
        )
        var found = file.matches(of: declaration) { "\($0) does not say what it does" }
        if file.name.contains(/Manager|Helper|Util/) {
            found.append("\(file.path): the name does not say what is inside")
        }
        return found
    }

    static func escapeHatchViolations(in file: SourceFile) -> [String] {
        guard file.module != nil else { return [] }
        let hatches = Regex<AnyRegexOutput>(
            /\bnonisolated\(unsafe\)|@preconcurrency\s+import|@_(?:exported|spi|silgen_name|implementationOnly)\b/
        )
        return file.matches(of: hatches) { "\($0) turns a check of the compiler off" }
    }
}
