import MergeModel
import Testing

@testable import Simulation
@testable import Simulator

struct ExhaustiveTests {
    @Test func `results come in the order of the jobs, whoever was faster`() {
        let results = Workers.map(200, workers: 4) { job in
            (0..<(job % 7) * 1_000).reduce(job) { $0 ^ $1 ^ $1 }
        }
        #expect(results == Array(0..<200))
    }
}

/// Searches that find nothing must be known to be able to, and what they find must be replayed by its name.
struct ExhaustiveCanaryTests {
    @Test func `a tree that is not as the model has it is found, under the name that replays it`() throws {
        let world = try TreeWorld()
        let test = TreeCase(moves: [0, 4, 9, 11], batches: [[3], [1, 0], [2]])
        let other = world.model([1, 4, 9, 11], arrived: [0, 1, 2, 3])
        var result = Exploration(.trees)
        try test.check(in: world, expected: other, &result)
        #expect(result.findings.map(\.property) == [.modelDisagrees])
        #expect(result.findings.first?.caseName == "0.4.9.11:3,1+0,2")
        #expect(try TreeCase(named: test.name) == test)
        #expect(try TreeCase.replay(test.name).findings == [])
    }

    @Test func `the number that stands for a tree tells apart all that a state tells apart`() throws {
        let world = try TreeWorld()
        var states: [TreeStanding: Int] = [:]
        var comparisonCount = 0
        for number in stride(from: 0, to: TreeWorld.historyCount, by: 29) {
            let state = world.model(TreeWorld.moves(ofHistory: number), arrived: [0, 1, 2, 3])
            let earlier = states.updateValue(number, forKey: TreeStanding(of: state))
            guard let earlier else { continue }
            var other = world.model(TreeWorld.moves(ofHistory: earlier), arrived: [0, 1, 2, 3])
            // Where a move has no effect or is overruled, the write says also where it would have led.
            other.movesWithoutEffect = state.movesWithoutEffect
            other.heads = state.heads
            for position in other.objects.indices {
                other.objects[position].openMoves = state.objects[position].openMoves
            }
            #expect(other == state, "histories \(earlier) and \(number)")
            comparisonCount += 1
        }
        #expect(states.count > 100 && comparisonCount > 10)
    }

    @Test(
        arguments: [
            (Exploration.Scope.trees, "1.2.3:0"), (.trees, "1.2.3.12:0"), (.trees, "1.2.3.4:0,0"), (.trees, "1.2.3.4"),
            (.existence, "cx:0"), (.existence, "c:01"), (.existence, "l:"), (.forks, "1"), (.forks, "8640:0"),
            (.forks, "0:9"), (.crashes, "kill:0"), (.crashes, "cut:1"),
            (.cuts, "sync:out"), (.cuts, "sync:in:4"),
        ]
    )
    func `a case that cannot be is refused`(_ scope: Exploration.Scope, _ name: String) {
        #expect(throws: UnknownCase.self) { try scope.replay(name) }
    }

    @Test(
        arguments: [
            (Exploration.Scope.trees, "11.3.4.5:0+1,2,3"), (.existence, "ceLEdD:01010"),
            (.forks, "2063:012<3>"), (.crashes, "power-tears:7"),
            (.cuts, "sync:back:300"),
        ]
    )
    func `a case is replayed by its name`(_ scope: Exploration.Scope, _ name: String) throws {
        let result = try scope.replay(name)
        #expect(result.caseCount == 1)
        #expect(result.findings == [])
    }

    @Test func `a case that does not end is named, and one that goes on is not`() {
        let cases = CasesUnderWay()
        let stuck = TreeCase(moves: [11, 1, 0, 3], batches: [[3], [1, 0], [2]])
        cases.start(job: 0).begin(stuck.moves, stuck.batches)
        let other = cases.start(job: 1)
        var looks = 0
        var named: [TreeCase] = []
        cases.watch(
            count: 3,
            pause: {
                looks += 1
                other.begin([1, 2, 3, 4], [[0]])
                if looks == 5 { cases.end(job: 0) }
                return looks < 9
            },
            { named.append($0) }
        )
        #expect(named == [stuck, stuck])
    }

    @Test func `of many findings the first are kept and all are counted`() {
        var result = Exploration(.cuts)
        for number in 0..<50 { result.find(.repeated, in: "sync:out:\(number)", "twice") }
        var summary = ExplorationSummary()
        summary.add(result, seconds: 1)
        #expect(!summary.isClean)
        let text = summary.text(seconds: 1)
        #expect(text.contains("repeated, 50 findings"))
        #expect(text.contains("explore --only cuts --case sync:out:0"))
        #expect(text.split(separator: "\n").count < 10)
        #expect(summary.json(seconds: 1).contains("\"findings\":50"))
    }
}
