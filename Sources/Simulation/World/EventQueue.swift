/// What will happen, ordered by time and then by the order in which it was scheduled: a binary heap.
///
/// Elements stay in their places while small entries that name them are moved about.
package struct EventQueue<Element> {
    private var heap: [Entry] = []
    private var elements: [Element?] = []
    private var freePlaces: [Int] = []
    private var scheduledCount: UInt64 = 0

    private struct Entry {
        var time: VirtualTime
        var number: UInt64
        var place: Int

        static func precedes(_ left: Entry, _ right: Entry) -> Bool {
            left.time == right.time ? left.number < right.number : left.time < right.time
        }
    }

    package var isEmpty: Bool { self.heap.isEmpty }
    /// When the next thing happens.
    var nextTime: VirtualTime? { self.heap.first?.time }

    /// - Complexity: O(log *n*).
    mutating func schedule(_ element: Element, at time: VirtualTime) {
        let place = self.freePlaces.popLast() ?? self.elements.count
        if place == self.elements.count { self.elements.append(element) } else { self.elements[place] = element }
        self.heap.append(Entry(time: time, number: self.scheduledCount, place: place))
        self.scheduledCount += 1
        var child = self.heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard Entry.precedes(self.heap[child], self.heap[parent]) else { break }
            self.heap.swapAt(child, parent)
            child = parent
        }
    }

    /// - Complexity: O(log *n*).
    package mutating func next() -> (time: VirtualTime, element: Element)? {
        guard let first = self.heap.first, let last = self.heap.popLast(),
            let element = self.elements[first.place].take()
        else { return nil }
        self.freePlaces.append(first.place)
        guard !self.heap.isEmpty else { return (first.time, element) }
        self.heap[0] = last
        var parent = 0
        while true {
            let left = parent * 2 + 1
            guard left < self.heap.count else { break }
            let right = left + 1
            let isRightFirst = right < self.heap.count && Entry.precedes(self.heap[right], self.heap[left])
            let child = isRightFirst ? right : left
            guard Entry.precedes(self.heap[child], self.heap[parent]) else { break }
            self.heap.swapAt(child, parent)
            parent = child
        }
        return (first.time, element)
    }
}
