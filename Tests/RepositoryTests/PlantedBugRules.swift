/// Planted bugs are there for the simulator alone: nothing of them may be in a build that was not made for them.
enum PlantedBugRules {
    static let condition = "PLANTED_BUGS"
    static let list = "Sources/CRDTCore/PlantedBug.swift"

    /// Where a planted bug is named and the condition does not hold.
    static func violations(in file: SourceFile) -> [String] {
        var found: [String] = []
        // For each open `#if`: whether what follows is compiled only if the condition holds.
        var branches: [Bool] = []
        for (index, line) in file.code.lines.enumerated() {
            let words = line.split(separator: " ")
            switch words.first {
            case "#if": branches.append(words.dropFirst() == [self.condition[...]])
            case "#else", "#elseif": if !branches.isEmpty { branches[branches.count - 1] = false }
            case "#endif": _ = branches.popLast()
            default:
                if line.contains("PlantedBug"), !branches.contains(true) {
                    found.append("\(file.path):\(index + 1): a planted bug outside of #if \(self.condition)")
                }
            }
        }
        return found
    }

    /// The names of the bugs that a file lists.
    static func names(listedIn file: SourceFile) -> [String] {
        file.code.lines.compactMap { line in
            line.firstMatch(of: /^    case (\w+)/).map { String($0.output.1) }
        }
    }

    /// The names of the bugs that a file asks for.
    static func names(plantedIn file: SourceFile) -> [String] {
        file.code.text.matches(of: /PlantedBug\.(\w+)\.(?:isPlanted|refuses)/).map { String($0.output.1) }
    }
}
