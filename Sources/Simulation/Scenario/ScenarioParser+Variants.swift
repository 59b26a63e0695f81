/// Scenarios that are run once for each of several values.
///
/// `for k in 0 1 160` and `for k in 1..40` give a word to what follows, where it stands as `$k`; `orders p q of A B`
/// gives the values in each of their orders. A text in quotes is one value. Several such lines multiply.
extension ScenarioParser {
    /// One run of a file.
    package struct Variant: Sendable {
        package var scenario: Scenario
        /// The values it was made with, to tell it from the others.
        package var label: String
    }

    /// The most runs that one file may ask for.
    private static let variantCountMax = 1_000

    private struct Loop {
        var names: [String]
        var values: [[String]]
    }

    /// All runs of a text, in the order of its values.
    package static func variants(of text: String) throws(ScenarioError) -> [Variant] {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
        var loops: [Loop] = []
        var count = 1
        for position in lines.indices {
            var line = try ScenarioLine(lines[position][...], number: position + 1)
            guard let loop = try self.loop(&line) else { continue }
            try line.end()
            count *= loop.values.count
            guard count <= self.variantCountMax else { throw line.failure("more than a thousand runs") }
            loops.append(loop)
            lines[position] = ""
        }
        var variants: [Variant] = []
        for number in 0..<count {
            var rest = number
            var chosen: [(name: String, value: String)] = []
            for loop in loops.reversed() {
                let values = loop.values[rest % loop.values.count]
                chosen = Array(zip(loop.names, values)) + chosen
                rest /= loop.values.count
            }
            let label = chosen.map { " \($0.name)=\($0.value)" }.joined()
            // The longest names first, so that no name is taken for the front of another.
            let longestFirst = chosen.sorted { $0.name.count > $1.name.count }
            let written = lines.map { line in
                longestFirst.reduce(line) { $0.replacing("$\($1.name)", with: $1.value) }
            }
            let scenario = try self.parse(written.joined(separator: "\n"))
            variants.append(Variant(scenario: scenario, label: label))
        }
        return variants
    }

    private static func loop(_ line: inout ScenarioLine) throws(ScenarioError) -> Loop? {
        if line.take("for") {
            let name = try line.word("a name")
            try line.expect("in")
            return Loop(names: [name], values: try self.values(&line).map { [$0] })
        }
        guard line.take("orders") else { return nil }
        var names: [String] = []
        while let name = line.peek, name != "of" { names.append(try line.word(name)) }
        try line.expect("of")
        let values = try self.values(&line)
        guard values.count == names.count, values.count <= 6 else {
            throw line.failure("as many values as names are wanted, and not more than six")
        }
        return Loop(names: names, values: self.orders(of: values))
    }

    private static func values(_ line: inout ScenarioLine) throws(ScenarioError) -> [String] {
        var values: [String] = []
        while !line.isAtEnd {
            let word = line.peek == nil ? try line.text() : try line.word("a value")
            let ends = word.split(separator: "..").map { Int($0) }
            if word.contains(".."), ends.count == 2, let low = ends[0], let high = ends[1] {
                guard low <= high, high - low < self.variantCountMax else {
                    throw line.failure("“\(word)” is not a row of numbers")
                }
                values += (low...high).map { String($0) }
            } else {
                values.append(word)
            }
        }
        guard !values.isEmpty else { throw line.failure("a value is missing") }
        return values
    }

    private static func orders(of values: [String]) -> [[String]] {
        guard values.count > 1 else { return [values] }
        return values.indices.flatMap { first -> [[String]] in
            let others = values.indices.filter { $0 != first }.map { values[$0] }
            return self.orders(of: others).map { [values[first]] + $0 }
        }
    }
}
