/// Planted bugs are there for the simulator alone: they are patches below `Tests/Mutants`, and nothing of them is in
/// the sources.
enum PlantedBugRules {
    static let list = "Tests/Mutants/Sources/CRDTCore/PlantedBug.swift"
    static let patches = "Tests/Mutants/Patches/"

    /// Where a source names a planted bug.
    static func violations(in file: SourceFile) -> [String] {
        file.code.lines.enumerated().filter { $0.element.contains("PlantedBug") }
            .map { "\(file.path):\($0.offset + 1): a planted bug; bugs are patches below \(self.patches)" }
    }

    /// The names of the bugs that a file lists.
    static func names(listedIn file: SourceFile) -> [String] {
        file.code.lines.compactMap { line in
            line.firstMatch(of: /^    case (\w+)/).map { String($0.output.1) }
        }
    }

    /// The names of the bugs that a patch asks for.
    static func names(plantedBy patch: SourceFile) -> [String] {
        patch.text.matches(of: /PlantedBug\.(\w+)\.(?:isPlanted|refuses)/).map { String($0.output.1) }
    }
}
