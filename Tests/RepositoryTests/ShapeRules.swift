/// The outside of a file: how long it is, how wide, and what it calls its types.
enum ShapeRules {
    static let lineCountMax = 700
    static let lineWidthMax = 120
    static let functionLineCountMax = 70

    static func violations(in file: SourceFile) -> [String] {
        self.sizeViolations(in: file) + self.functionViolations(in: file) + self.nameViolations(in: file)
            + self.escapeHatchViolations(in: file)
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

    /// Relies on the format: a body ends at the first line that begins with a brace in the column of its declaration.
    static func functionViolations(in file: SourceFile) -> [String] {
        guard file.name.hasSuffix(".swift") else { return [] }
        let declaration = /^ *(?:[@\w()]+ )*(?:func |init[?<(]|subscript[<(]).*[{(]$/
        let lines = file.code.lines
        return lines.indices.filter { start in
            let last = lines[start].utf8.last
            guard last == UInt8(ascii: "{") || last == UInt8(ascii: "("),
                lines[start].prefixMatch(of: declaration) != nil
            else { return false }
            let indentation = lines[start].prefix { $0 == " " }
            let body = lines[(start + 1)...]
            if lines[start].hasSuffix("(") {
                // A requirement of a protocol has no body.
                let signatureEnd = body.first { $0.hasPrefix(indentation + ")") }
                guard let signatureEnd, signatureEnd.hasSuffix("{") else { return false }
            }
            let end = indentation + "}"
            let length = (body.firstIndex { $0.hasPrefix(end) } ?? body.endIndex) - start - 1
            return length > self.functionLineCountMax
        }
        .map { "\(file.path):\($0 + 1): a function of over \(self.functionLineCountMax) lines" }
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
        // The switch of planted bugs is set before anything else happens, and is in no build that people use. What the
        // library exports again is all that one file does.
        let exceptions = [PlantedBugRules.list, "Sources/PeerdKit/Exports.swift"]
        guard file.module != nil, !exceptions.contains(file.path) else { return [] }
        let hatches = Regex<AnyRegexOutput>(
            /\bnonisolated\(unsafe\)|@preconcurrency\s+import|@_(?:exported|spi|silgen_name|implementationOnly)\b/
        )
        return file.matches(of: hatches) { "\($0) turns a check of the compiler off" }
    }
}
