import Testing

@testable import Simulation
@testable import Simulator

struct ChoiceTapeTests {
    @Test func `a seed gives the same choices each time`() {
        let first = ChoiceTape(seed: 7)
        let second = ChoiceTape(seed: 7)
        for bound in 1...200 {
            #expect(first.draw(.plan, below: UInt64(bound)) == second.draw(.plan, below: UInt64(bound)))
        }
        #expect(first.choices == second.choices)
    }

    @Test func `recorded choices are read back, and each one beyond their end is the simplest`() {
        let drawn = ChoiceTape(seed: 8)
        let choices = (0..<20).map { _ in drawn.draw(.network, below: 1000) }
        let read = ChoiceTape(choices: drawn.choices)
        #expect((0..<20).map { _ in read.draw(.network, below: 1000) } == choices)
        #expect(read.draw(.network, below: 1000) == 0)
    }

    @Test func `more choices in one lane do not shift those of another`() {
        let first = ChoiceTape(seed: 9)
        let second = ChoiceTape(seed: 9)
        for _ in 0..<10 { _ = second.draw(.plan, below: 10) }
        #expect(first.draw(.network, below: 1 << 40) == second.draw(.network, below: 1 << 40))
    }
}

struct EventQueueTests {
    @Test func `events come in the order of their times, and of equal times in the order they were scheduled`() {
        var random = LossGenerator(seed: 1)
        var queue = EventQueue<Int>()
        var expected: [(time: Int, number: Int)] = []
        for number in 0..<500 {
            let time = random.below(50)
            queue.schedule(number, at: .milliseconds(UInt64(time)))
            expected.append((time, number))
        }
        expected.sort { $0.time == $1.time ? $0.number < $1.number : $0.time < $1.time }
        for entry in expected {
            let next = queue.next()
            #expect(next?.element == entry.number)
            #expect(next?.time == .milliseconds(UInt64(entry.time)))
        }
        #expect(queue.next() == nil)
    }
}
