/// Whoever performs the effects of a node names each of them: a new effect must not compile until all drivers do.
enum EffectSwitchRules {
    /// The modules that perform effects.
    static let drivers: Set<String> = ["PeerdKit", "PeerdPreview", "Simulation"]

    static func violations(in file: SourceFile) -> [String] {
        guard let module = file.module, self.drivers.contains(module) else { return [] }
        return self.effectSwitches(in: file.code)
            .filter(\.hasCatchAll)
            .map { "\(file.path):\($0.line): a switch over Effect has a catch-all case" }
    }

    /// The switches whose subject is named after an effect.
    static func effectSwitches(in code: SwiftCode) -> [(line: Int, hasCatchAll: Bool)] {
        code.text.matches(of: /\bswitch\b([^{}]*)\{/.wordBoundaryKind(.simple)).compactMap { match in
            guard match.output.1.contains(/(?:\beffect|Effect)\b/) else { return nil }
            let line = code.text[..<match.range.lowerBound].count { $0 == "\n" } + 1
            let body = self.outermostLevel(of: code.text[match.range.upperBound...])
            return (line, body.contains(/\bdefault\s*:|\bcase\s+(?:let\s+\w+|_)\s*(?::|where\b)/))
        }
    }

    /// The text up to the brace that closes it, without what stands in braces inside.
    private static func outermostLevel(of text: Substring) -> String {
        var depth = 0
        var level = ""
        for character in text {
            if character == "}" {
                depth -= 1
                if depth < 0 { break }
            }
            if depth == 0 { level.append(character) }
            if character == "{" { depth += 1 }
        }
        return level
    }
}
