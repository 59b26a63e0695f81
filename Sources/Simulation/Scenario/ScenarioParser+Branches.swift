/// What a scenario does on branches of the workspace, and expects of them.
extension ScenarioParser {
    private static let mainName = "main"
    private static let firstNamedBranch = 100

    /// Nil if the line is about something else.
    mutating func branchAction(_ line: inout ScenarioLine) throws(ScenarioError) -> BranchAction? {
        if line.take("branches") {
            let branch = try self.branch(&line)
            let parent = line.take("off") ? try self.branchOrMain(&line) : nil
            return .open(branch, leaving: parent, isOfThePast: line.take("as", "remembered"))
        }
        if line.take("on") { return .write(try self.branch(&line), try self.steps(&line)) }
        if line.take("merges") {
            let branch = try self.branchOrMain(&line)
            let target = line.take("into") ? try self.branchOrMain(&line) : nil
            guard branch != target else { throw line.failure("a branch is not merged into itself") }
            return .merge(branch, into: target)
        }
        return line.take("drops") ? .close(try self.branch(&line)) : nil
    }

    /// An undo or redo, `on` a branch or on the main timeline.
    mutating func undo(
        _ peer: Int,
        isRedo: Bool,
        _ line: inout ScenarioLine
    ) throws(ScenarioError) -> Action {
        guard line.take("on") else { return .history(peer: peer, isRedo ? .redo : .undo) }
        return .branch(peer: peer, .reverse(try self.branch(&line), isRedo: isRedo))
    }

    /// A branch, or nil for the main timeline.
    private mutating func branchOrMain(_ line: inout ScenarioLine) throws(ScenarioError) -> Int? {
        line.take(Self.mainName) ? nil : try self.branch(&line)
    }

    /// `b7` is branch 7; any other name is given a number beyond those of plans.
    mutating func branch(_ line: inout ScenarioLine) throws(ScenarioError) -> Int {
        let name = try line.word("a branch")
        guard name != Self.mainName else { throw line.failure("“main” is no branch") }
        if name.first == "b", let number = UInt16(name.dropFirst()) { return Int(number) }
        if let known = self.branches[name] { return known }
        let number = Self.firstNamedBranch + self.branches.count
        self.branches[name] = number
        return number
    }

    /// `on b` after what is expected of an object: there, and not on the main timeline; or `on A B`, on these peers.
    mutating func expectation(
        _ expectation: Expectation,
        placedBy line: inout ScenarioLine
    ) throws(ScenarioError) -> Expectation {
        guard line.take("on") else { return expectation }
        if self.isPeer(line.peek) { return .on(try self.peers(&line), expectation) }
        switch expectation {
        case .exists, .isGone, .stands, .value: return .onBranch(try self.branch(&line), expectation)
        default: throw line.failure("only what shows of an object can be expected on a branch")
        }
    }
}
