import Testing

@testable import Simulation
@testable import Simulator

/// What is drawn of a run, and that looking at it changes nothing.
struct TimelineTests {
    private let seed: UInt64 = 14

    /// Two machines that nothing happens to but writes.
    private var limits: PlanLimits {
        var limits = PlanLimits()
        limits.peerCount = 2
        limits.faults = []
        return limits
    }

    private func traced() throws -> (outcome: RunOutcome, trace: Trace) {
        let tape = ChoiceTape(seed: self.seed)
        let plan = PlanGenerator.plan(tape, self.limits)
        let outcome = Simulation.run(plan, tape, isTraced: true)
        return (outcome, try #require(outcome.trace))
    }

    @Test func `a run that is looked at is the same run`() throws {
        #expect(try self.traced().outcome.hash == Simulation.run(seed: self.seed, limits: self.limits).hash)
    }

    @Test func `no message arrives before it was sent, and time never goes back`() throws {
        let trace = try self.traced().trace
        var last = VirtualTime.zero
        var arrivalCount = 0
        for entry in trace.entries {
            #expect(last <= entry.time)
            last = entry.time
            guard case .arrived(let sent, _, _) = entry.kind else { continue }
            arrivalCount += 1
            guard case .sent(let receiver, _) = trace.entries[sent].kind else {
                Issue.record("entry \(sent) is no sending")
                continue
            }
            #expect(receiver == entry.machine)
            #expect(trace.entries[sent].time <= entry.time)
        }
        #expect(arrivalCount > 100)
    }

    @Test func `machines that are equal at the end have lines of one colour`() throws {
        let trace = try self.traced().trace
        var states: [Int: UInt32] = [:]
        for entry in trace.entries {
            if case .state(let state) = entry.kind, let machine = entry.machine { states[machine] = state }
        }
        #expect(states.count == trace.machineCount)
        #expect(Set(states.values).count == 1)
    }

    @Test func `in the ShiViz log each host counts its own events, and hears of others only what they did before`()
        throws
    {
        let lines = ShiVizLog.text(of: try self.traced().trace).split(separator: "\n")
        #expect(lines.count % 2 == 0)
        var own: [Substring: Int] = [:]
        for line in stride(from: 0, to: lines.count, by: 2).map({ lines[$0] }) {
            let host = line.prefix { $0 != " " }
            own[host, default: 0] += 1
            for match in line.matches(of: /"(peer\d)":(\d+)/) {
                let count = try #require(Int(match.output.2))
                if match.output.1 == host { #expect(count == own[host]) }
                #expect(count <= own[match.output.1, default: 0], "\(line)")
            }
        }
        #expect(own.count == 2)
    }

    @Test func `the diagram is one page with every tag closed, and text in it cannot break out`() {
        var trace = Trace()
        trace.add(.action("<script>alert(\"&\")</script>"), machine: 0, at: .seconds(1))
        let page = SpaceTimeDiagram.page(of: trace, title: "a < b")
        #expect(!page.contains("<script"))
        #expect(page.contains("&lt;script&gt;alert(&quot;&amp;&quot;)"))
        for tag in ["svg", "text", "html", "body", "title", "style"] {
            let opened = page.ranges(of: "<\(tag)>").count + page.ranges(of: "<\(tag) ").count
            #expect(opened == page.ranges(of: "</\(tag)>").count, "\(tag)")
        }
        #expect(!page.contains("http-equiv") && !page.contains("src="))
    }

    @Test func `the columns name each machine, and keep what is said of all apart`() throws {
        let text = ColumnTimeline.text(of: try self.traced().trace)
        let lines = text.split(separator: "\n")
        #expect(lines[0].contains("peer0") && lines[0].contains("peer1"))
        #expect(lines.contains { $0.contains("----- * healed: [0, 1]") })
    }
}
