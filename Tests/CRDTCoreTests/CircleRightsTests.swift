import CRDTCore
import MergeModel
import Testing

/// `CircleRights` and the naive model come to the same verdicts on what a store holds, in whatever order that came.
struct CircleRightsTests {
    @Test(arguments: Seeds.range(from: 94_000, count: 600))
    func `verdicts are those of the naive model, in every order of arrival`(seed: UInt64) throws {
        let trial = try CircleTrial(seed: seed)
        #expect(trial.disagreements.isEmpty, "seed \(seed): \(trial.disagreements.joined(separator: "; "))")
    }

    /// A thief's phone makes a certificate for the laptop that had vouched for it: only what is written with that
    /// certificate stands below the phone.
    @Test func `who vouches for a device above him stands above none of its own chains`() throws {
        var circle = WrittenCircle()
        let laptop = circle.add(10, of: WrittenCircle.owner)
        let phone = circle.add(11, of: WrittenCircle.owner, by: laptop)
        let tablet = circle.add(12, of: WrittenCircle.owner, by: laptop)
        let own = circle.write(laptop)
        let other = circle.write(tablet)
        let theft = circle.write(phone, .deviceRemoval(laptop, keep: [], heads: []))
        var log = try CircleLog(circle)
        // The tablet, stolen too, begins a chain with the laptop's certificate by the phone.
        let forged = try log.write(tablet, line: [tablet, laptop, phone])
        let counts = try log.writerCounts()
        #expect(counts[own] && counts[other] && counts[theft])
        #expect(!counts[forged])
    }

    /// What decides about a change, with the number of the change that says it.
    private struct Decision: Equatable {
        let allows: Bool
        let statement: Int?
    }

    @Test func `a verdict names the statement that decides`() throws {
        var circle = WrittenCircle()
        let writer = WrittenCircle.user(1)
        let laptop = circle.add(10, of: WrittenCircle.owner)
        let pen = circle.add(11, of: writer)
        let other = circle.add(12, of: writer)
        let stranger = circle.add(13, of: WrittenCircle.user(2))
        let none = circle.write(other)
        let grant = circle.write(laptop, .grant(writer, .writer, names: ["done"]))
        circle.grants[writer] = [NaiveRights.StatementPlace(grant)]
        let first = circle.write(pen)
        let second = circle.write(pen, after: first)
        let spare = circle.write(other)
        let theirs = circle.write(stranger)
        let removal = circle.write(laptop, after: grant, .removal(writer, WrittenCircle.all, heads: [first, spare]))
        let theft = circle.write(laptop, after: removal, .deviceRemoval(other, keep: [], heads: []))
        let log = try CircleLog(circle)
        func decision(_ need: RightNeed, _ change: Int) throws -> Decision {
            let (reason, statement) = try log.reason(for: need, in: change)
            return Decision(allows: reason.allows, statement: statement)
        }
        #expect(try decision(.write("done"), first) == Decision(allows: true, statement: grant))
        #expect(try decision(.write("title"), first) == Decision(allows: false, statement: grant))
        #expect(try decision(.role(.writer), first) == Decision(allows: false, statement: grant))
        #expect(try decision(.role(.reader), first) == Decision(allows: true, statement: grant))
        #expect(try decision(.write("done"), second) == Decision(allows: false, statement: removal))
        #expect(try decision(.write("done"), spare) == Decision(allows: false, statement: theft))
        #expect(try decision(.write("done"), none) == Decision(allows: false, statement: theft))
        #expect(try decision(.write("done"), theirs) == Decision(allows: false, statement: nil))
        #expect(try decision(.role(.manager), removal) == Decision(allows: true, statement: nil))
    }
}
