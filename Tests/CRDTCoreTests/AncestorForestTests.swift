import Testing

@testable import CRDTCore
@testable import MergeModel

/// What the forest says of random hierarchies is what climbing says.
struct AncestorForestTests {
    @Test(arguments: [(2, 200), (30, 20_000), (1_000, 20_000)])
    func `the forest agrees with climbing`(_ count: Int, _ steps: Int) {
        var random = SplitMix64(seed: UInt64(count))
        var forest = AncestorForest()
        var parents: [Int?] = []
        let object = { (number: Int) in ObjectIndex(rawValue: UInt32(number * 7)) }
        let isAbove = { (high: Int, low: Int, parents: [Int?]) in
            var current: Int? = low
            while let place = current, place != high { current = parents[place] }
            return current == high
        }
        for number in 0..<count {
            forest.enter(object(number))
            // Mostly deep: below the one before it.
            let parent = number == 0 ? nil : random.chance(80) ? number - 1 : random.below(number)
            parents.append(parent)
            forest.place(object(number), under: parent.map(object))
        }
        for _ in 0..<steps {
            let (moved, parent) = (random.below(count), random.below(count))
            let isCycle = forest.isAbove(object(moved), object(parent))
            #expect(isCycle == isAbove(moved, parent, parents))
            if random.chance(10) {
                parents[moved] = nil
                forest.place(object(moved), under: nil)
            } else if !isCycle {
                parents[moved] = parent
                forest.place(object(moved), under: object(parent))
            }
        }
    }

    @Test func `who is not in the forest is above nobody`() {
        var forest = AncestorForest()
        let (high, low) = (ObjectIndex(rawValue: 1), ObjectIndex(rawValue: 2))
        forest.enter(low)
        var answers = [forest.isAbove(high, low), forest.isAbove(low, low)]
        forest.enter(high)
        answers.append(forest.isAbove(high, low))
        forest.place(low, under: high)
        // Once more changes nothing.
        forest.enter(low)
        answers += [forest.isAbove(high, low), forest.isAbove(low, high)]
        #expect(answers == [false, true, false, true, false])
    }
}
